/** The ledger of a task: the occurrences of its schedule compared with those recorded. */

import { z } from 'zod'
import { type LedgerEntry as Entry, OUT_OF_ORDER } from '../../../core/ledger/ledger.ts'
import { RUN_STATES } from '../../../core/run/run.ts'
import { instantMs } from '../../../core/task/task.ts'
import { utc } from '../../../core/values/utc.ts'
import { type LedgerView, MAX_LEDGER_OCCURRENCES, readLedger } from '../../../operations/ledger/ledger.ts'
import { Uuid } from '../../../operations/validation/values.ts'
import type { App } from '../../app.ts'
import { decodeCursor, encodeCursor } from '../../http/cursor.ts'
import { problems } from '../../http/schemas/problem-document.ts'
import { Ledger, type LedgerEntry, ReadLedger } from './schemas.ts'

const read = {
  operationId: 'getLedger',
  tags: ['tasks'],
  summary: 'Compare the occurrences of a task with the recorded runs',
  description:
    'Computes from the versions of the task when it was due, and accounts for each occurrence: it ran, is in progress, was skipped for a ' +
    `reason, is upcoming, or is missing. A range with more than ${MAX_LEDGER_OCCURRENCES} occurrences is refused; the error names the largest possible range.`,
  params: z.object({ id: Uuid }),
  querystring: ReadLedger,
  response: { 200: Ledger, ...problems(404) },
}

export function ledgerRoutes(app: App): void {
  app.get(
    '/v1/tasks/:id/ledger',
    { schema: read, config: { access: 'read' } },
    async ({ params, query, context }) => {
      const [offset = 0] = decodeCursor(query.cursor, isPosition) ?? []
      const { limit, show = null } = query
      const at = (text: string | undefined) => (text === undefined ? null : instantMs(text))
      const view = await readLedger(context, {
        taskId: params.id,
        from: at(query.from),
        to: at(query.to),
        show,
        offset,
        limit,
      })
      return present(view, view.hasMore ? encodeCursor([offset + limit]) : null)
    },
  )
}

type Position = readonly [offset: number]

const isPosition = (value: unknown): value is Position =>
  Array.isArray(value) &&
  value.length === 1 &&
  Number.isInteger(value[0]) &&
  value[0] >= 0 &&
  value[0] <= 2 * MAX_LEDGER_OCCURRENCES

function present(
  { from, to, now, historyFrom, ledger, manual, page }: LedgerView,
  nextCursor: string | null,
): Ledger {
  const { counts, expected } = ledger
  return {
    from: utc(from),
    to: utc(to),
    now: utc(now),
    historyFrom: historyFrom === null ? null : utc(historyFrom),
    isInOrder: OUT_OF_ORDER.every((state) => counts[state] === 0),
    sentence: sentenceOf(ledger),
    expected,
    accounted: expected - counts.missing,
    counts,
    manual,
    items: page.map(presentEntry),
    nextCursor,
  }
}

function sentenceOf({ counts, expected }: LedgerView['ledger']): string {
  if (expected === 0 && counts.unexpected === 0) return 'Nothing was due.'
  const parts = Object.entries(counts).flatMap(([state, count]) => (count > 0 ? [`${count} ${state}`] : []))
  return `${expected} ${expected === 1 ? 'occurrence' : 'occurrences'}: ${parts.join(', ')}.`
}

function presentEntry({ state, at, until, count, version, reason, rows }: Entry): LedgerEntry {
  const runs = rows.filter((row) => row.state !== 'scheduled')
  const [run] = runs
  return {
    state,
    at: utc(at),
    until: until === null ? null : utc(until),
    count,
    version,
    reason,
    runIds: runs.map(({ runId }) => runId),
    runState: RUN_STATES.find((known) => known === run?.state) ?? null,
  }
}
