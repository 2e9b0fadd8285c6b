import type { Ledger, LedgerEntry } from '../../api/resources/ledger/schemas.ts'
import { parseDuration } from '../../core/values/duration.ts'
import { findTask } from '../client/find-task.ts'
import { type ClientFlags, give, serverFrom } from '../client/output.ts'
import { queryOf, type Server } from '../client/server.ts'
import { CliError, EXIT } from '../exit.ts'

/** Flags that select part of the ledger. */
export interface LedgerFlags extends ClientFlags {
  readonly since?: string
  readonly from?: string
  readonly to?: string
  readonly show?: string
}

const SHOWN = 200

export async function ledgerTask(ref: string, flags: LedgerFlags): Promise<void> {
  const server = serverFrom(flags)
  const { id } = await findTask(server, ref)
  const query = queryOf({ from: beginning(flags, server), to: flags.to, show: flags.show, limit: SHOWN })
  const ledger = await server.get<Ledger>(`/v1/tasks/${id}/ledger${query}`)
  give(ledger, flags, () => ledgerText(ledger))
}

function beginning({ since, from }: LedgerFlags, server: Server): string | undefined {
  if (since === undefined) return from
  const parsed = parseDuration(since)
  if (!parsed.ok)
    throw new CliError(
      `--since is '${since}'; it ${parsed.reason}.`,
      'For example: --since 5m or --since 1d',
      EXIT.usage,
    )
  return new Date(server.now() - parsed.ms).toISOString()
}

function ledgerText({ from, to, historyFrom, sentence, isInOrder, items, nextCursor }: Ledger): string {
  const lines = [
    ...items.map(entryText),
    ...(nextCursor === null
      ? []
      : [`… only the first ${SHOWN} are shown; to see irregularities only: --show problems`]),
    ...(historyFrom === null ? [] : [`History before ${historyFrom} was deleted and is not included.`]),
    `${from} to ${to}: ${sentence} ${isInOrder ? 'Everything is accounted for.' : 'There are irregularities.'}`,
  ]
  return `${lines.join('\n')}\n`
}

function entryText({ state, at, until, count, reason, runIds, runState }: LedgerEntry): string {
  const which = until === null ? at : `${at} to ${until} (${count})`
  const what = [state, runState !== null && runState !== state ? runState : null, reason].filter(
    (word) => word !== null,
  )
  return `${which}  ${what.join(' ')}  ${runIds.join(' ')}`.trimEnd()
}
