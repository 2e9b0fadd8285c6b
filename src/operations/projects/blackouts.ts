import { Refusal } from '../../core/errors.ts'
import { uuidv7 } from '../../core/ids.ts'
import { spanAfter, spanAt } from '../../core/policy/blackout.ts'
import type { BlackoutEffect, BlackoutRule } from '../../core/policy/blackout-rule.ts'
import {
  type BlackoutRow,
  insertBlackout,
  MAX_BLACKOUTS,
  readBlackouts,
  removeBlackout,
  wakeDeferred,
} from '../../store/projects/blackouts.ts'
import { lockProject } from '../../store/projects/projects.ts'
import { recordChange } from '../audit-log/record-change.ts'
import type { Context } from '../context.ts'

/** A blackout to create. */
export interface NewBlackout {
  readonly name: string
  readonly window: BlackoutRule
  /** Default `skip`. */
  readonly effect?: BlackoutEffect | undefined
}

/** Stores a blackout. Schedulers are woken at once, and find it within two seconds in any case. */
export async function createBlackout(context: Context, input: NewBlackout): Promise<BlackoutRow> {
  const { db, projectId, wakeUps, clock } = context
  const rule = input.window
  const now = clock.now()
  if (spanAt(rule, now) === null && spanAfter(rule, now) === null) throw isOver()
  const row = { id: uuidv7(), projectId, name: input.name, effect: input.effect ?? 'skip', rule }
  const stored = await db.transaction(async (tx) => {
    await tx.run(lockProject(projectId))
    const [inserted] = await tx.run(insertBlackout(row))
    if (!inserted) throw tooMany()
    const { name, effect } = row
    await recordChange(tx, context, {
      action: 'blackout.create',
      subject: { kind: 'blackout', id: row.id, name },
      after: { name, effect, window: rule },
    })
    return inserted
  })
  wakeUps.announceQueues()
  return { ...row, ...stored }
}

export function allBlackouts({ db, projectId }: Context): Promise<BlackoutRow[]> {
  return db.run(readBlackouts({ projectId }))
}

export async function getBlackout({ db, projectId }: Context, id: string): Promise<BlackoutRow> {
  const [row] = await db.run(readBlackouts({ projectId, id }))
  if (!row) throw notThere(id)
  return row
}

/** Removes a blackout; occurrences that it had deferred are re-examined now. */
export async function endBlackout(context: Context, id: string): Promise<void> {
  const { db, projectId, wakeUps, clock } = context
  const removed = await db.transaction(async (tx) => {
    const [row] = await tx.run(removeBlackout({ projectId, id }))
    if (!row) throw notThere(id)
    const { name, effect, rule } = row
    await recordChange(tx, context, {
      action: 'blackout.delete',
      subject: { kind: 'blackout', id, name },
      before: { name, effect, window: rule },
    })
    return row
  })
  wakeUps.announceQueues()
  const span = removed.effect === 'defer' ? spanAt(removed.rule, clock.now()) : null
  if (span) wakeUps.announceDue(await db.run(wakeDeferred({ projectId, at: span.to })))
}

const notThere = (id: string) => new Refusal('not_found', `Blackout ${id} does not exist or was removed.`)

function isOver(): Refusal {
  const problems = [{ pointer: '/window/to', detail: 'must be in the future' }]
  return new Refusal('invalid_input', 'The window has already ended, so the blackout would never apply.', {
    problems,
  })
}

const tooMany = () =>
  new Refusal(
    'too_many_blackouts',
    `The project has reached the limit of ${MAX_BLACKOUTS} blackouts. Remove one first.`,
  )
