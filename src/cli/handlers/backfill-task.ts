import { randomUUID } from 'node:crypto'
import type { Backfill, BackfillPreview } from '../../api/resources/backfills/schemas.ts'
import { findTask, titleOf } from '../client/find-task.ts'
import { readNumber } from '../client/flag-values.ts'
import { type ClientFlags, give, serverFrom } from '../client/output.ts'
import { counted } from '../client/printed.ts'
import type { Server } from '../client/server.ts'
import { untilEnded } from '../client/until-ended.ts'
import { EXIT } from '../exit.ts'
import { onStdout as c } from '../terminal.ts'

/** Flags of a backfill; the server validates them. */
export interface BackfillFlags extends ClientFlags {
  readonly from?: string
  readonly to?: string
  readonly dryRun?: boolean
  readonly rate?: string
  readonly order?: string
  readonly overlap?: string
  readonly maxRuns?: string
  readonly force?: boolean
  readonly reason?: string
  readonly wait?: boolean
}

export async function backfillTask(ref: string, flags: BackfillFlags): Promise<void> {
  const server = serverFrom(flags)
  const task = await findTask(server, ref)
  const {
    from,
    to = new Date(server.now()).toISOString(),
    dryRun,
    rate,
    order,
    overlap,
    force,
    reason,
  } = flags
  const maxRuns = flags.maxRuns === undefined ? undefined : readNumber(flags.maxRuns)
  const input = { from, to, dryRun, rate, order, overlap, maxRuns, force, reason }
  const path = `/v1/tasks/${task.id}/backfill`
  if (dryRun) {
    const preview = await server.post<BackfillPreview>(path, input)
    return give(preview, flags, () => previewText(preview))
  }
  const begun = await server.post<Backfill>(path, input, { 'idempotency-key': randomUUID() })
  const backfill = flags.wait ? await ended(server, begun) : begun
  give(backfill, flags, () => backfillText(titleOf(task), backfill))
  if (flags.wait && (backfill.state !== 'completed' || backfill.failed > 0)) process.exitCode = EXIT.runFailed
}

const ended = (server: Server, begun: Backfill): Promise<Backfill> =>
  untilEnded(begun, { ask: () => server.get<Backfill>(`/v1/backfills/${begun.id}`), tell: progressText })

function progressText({
  occurrences,
  remaining,
  waiting,
  running,
  completed,
  failed,
  cancelled,
}: Backfill): string {
  const states = { waiting, running, completed, failed, cancelled }
  const counts = Object.entries(states).flatMap(([state, count]) => (count > 0 ? `${count} ${state}` : []))
  return [`${occurrences - remaining} of ${occurrences} occurrences`, ...counts].join(', ')
}

const needless = (occurrences: number) => (occurrences === 0 ? '' : `; no run needed for ${occurrences}`)

function previewText({ occurrences, runs, passedOver, first }: BackfillPreview): string {
  const lines = [
    `${counted(runs, 'run')} for ${counted(occurrences, 'occurrence')}${needless(passedOver)}`,
    ...first.map((at) => `  ${at}`),
    ...(runs > first.length ? [`  … and ${runs - first.length} more`] : []),
  ]
  return `${lines.join('\n')}\n`
}

function backfillText(title: string, backfill: Backfill): string {
  const { id, state, occurrences, passedOver, started, completed, failed, cancelled } = backfill
  if (state === 'running')
    return `${c.green('✓')} task ${title}: ${counted(occurrences, 'occurrence is', 'occurrences are')} being backfilled\n  id  ${id}\n`
  const mark = failed > 0 || state === 'cancelled' ? c.red('✕') : c.green('✓')
  const words = [
    counted(started, 'run'),
    `${completed} completed`,
    `${failed} failed`,
    `${cancelled} cancelled`,
  ]
  return `${mark} task ${title}: backfill ${state}; ${words.join(', ')}${needless(passedOver)}\n  id  ${id}\n`
}
