/** Targets: their state, and the settings that users make for them. */

import type { AuditAction } from '../../core/audit-log/audit-action.ts'
import { invalidInput, Refusal } from '../../core/errors.ts'
import {
  type AppliedSettings,
  appliedTo,
  type JoinedState,
  joined,
  type TargetSettings,
  type TargetState,
} from '../../core/target/target-state.ts'
import { utcOrNull } from '../../core/values/utc.ts'
import type { Queryable } from '../../store/database/database.ts'
import { lockProject } from '../../store/projects/projects.ts'
import {
  dropEmptyTargetSetting,
  findTargetSetting,
  MAX_TARGET_SETTINGS,
  makeTargetSetting,
  readTargetSettings,
  setTargetLimits,
  setTargetPaused,
  type TargetLimits,
} from '../../store/targets/target-settings.ts'
import { findTarget, listTargets, type TargetRow } from '../../store/targets/targets.ts'
import { recordChange } from '../audit-log/record-change.ts'
import type { Context } from '../context.ts'

/** A target with its state and settings. */
export interface TargetView extends TargetRow {
  readonly isPattern: boolean
  readonly state: TargetState
  readonly joined: JoinedState
  readonly applied: AppliedSettings
}

/** Which targets to read, ordered by name. */
export interface TargetQuery {
  readonly part: string | null
  readonly state: TargetState | null
  readonly after: string | null
  readonly limit: number
}

/** The state of a target is in no index: this many targets are read at a time until a page is full. */
const READ_AT_ONCE = 500

/** Returns one page of the targets, ordered by name. */
export function readTargets({ db, projectId }: Context, query: TargetQuery): Promise<TargetView[]> {
  const { part, state, limit } = query
  const size = state === null ? limit : READ_AT_ONCE
  return db.snapshot(async (tx) => {
    const settings = await tx.run(readTargetSettings(projectId))
    const found: TargetView[] = []
    let { after } = query
    while (found.length < limit) {
      const rows = await tx.run(listTargets({ projectId, part, after, limit: size }))
      const views = rows.map((row) => viewOf(row, settings))
      found.push(...views.filter((view) => state === null || view.state === state))
      after = rows.at(-1)?.target ?? null
      if (rows.length < size) break
    }
    return found.slice(0, limit)
  })
}

export async function getTarget(context: Context, target: string): Promise<TargetView> {
  const view = await viewed(context, target)
  const isKnown = view.nodes.length > 0 || view.waiting > 0 || view.openedAt !== null
  if (!isKnown && !isSet(view))
    throw new Refusal(
      'not_found',
      `Target '${target}' is unknown: no node has called it recently, no run is waiting for it, and it has no settings.`,
    )
  return view
}

/** Limits how many calls may be in progress at once, and how many may start. Calls in progress continue. */
export async function limitTarget(
  context: Context,
  pattern: string,
  limits: TargetLimits,
): Promise<TargetView> {
  const { projectId } = context
  await change(context, { action: 'target.limit', pattern }, ({ rate }) => {
    if (typeof limits.burst === 'number' && (limits.rate === undefined ? rate : limits.rate) === null)
      throw invalidInput([{ pointer: '/burst', detail: 'needs a rate, such as 10/s' }])
    return setTargetLimits({ projectId, pattern, ...limits })
  })
  return viewed(context, pattern)
}

/** Pauses or resumes a target. While it is paused no call to it starts, and its runs wait. Calls in progress continue. */
export async function pauseTarget(
  context: Context,
  pattern: string,
  { isPaused, reason = null }: { isPaused: boolean; reason?: string | null },
): Promise<TargetView> {
  const { projectId } = context
  const action = isPaused ? 'target.pause' : 'target.resume'
  await change(context, { action, pattern, reason }, () =>
    setTargetPaused({ projectId, pattern, isPaused, reason }),
  )
  return viewed(context, pattern)
}

/** Changes the settings of a target. A row without settings is deleted. */
async function change(
  context: Context,
  { action, pattern, reason }: { action: AuditAction; pattern: string; reason?: string | null },
  statement: (stored: { readonly rate: string | null }) => ReturnType<typeof setTargetLimits>,
): Promise<void> {
  const { db, projectId, wakeUps } = context
  await db.transaction(async (tx) => {
    await tx.run(lockProject(projectId))
    const [made] = await tx.run(makeTargetSetting({ projectId, pattern }))
    if (!made) throw tooMany()
    await tx.run(statement(made))
    const [set] = await tx.run(findTargetSetting({ projectId, pattern }))
    await recordChange(tx, context, {
      action,
      subject: { kind: 'target', id: pattern },
      before: recorded(made),
      after: set && recorded(set),
      reason,
    })
    await tx.run(dropEmptyTargetSetting({ projectId, pattern }))
  })
  wakeUps.announceTargets()
}

const recorded = ({ limit, rate, burst, pausedAt, pauseReason }: TargetSettings) => ({
  limit,
  rate,
  burst,
  pausedAt: utcOrNull(pausedAt),
  pauseReason,
})

const viewed = ({ db, projectId }: Context, target: string): Promise<TargetView> =>
  db.snapshot((tx) => targetIn(tx, projectId, target))

/** Returns a target, even if nothing is known about it. */
export async function targetIn(tx: Queryable, projectId: string, target: string): Promise<TargetView> {
  const settings = await tx.run(readTargetSettings(projectId))
  const [row] = await tx.run(findTarget({ projectId, target }))
  return viewOf(row as TargetRow, settings)
}

function viewOf(row: TargetRow, settings: readonly TargetSettings[]): TargetView {
  const applied = appliedTo(row.target, settings)
  const ofNodes = joined(row.nodes.map(({ state }) => state))
  return {
    ...row,
    isPattern: !row.target.includes('://'),
    applied,
    joined: ofNodes,
    state: stateOf(row, applied, ofNodes.state),
  }
}

/** A pause takes effect in the view as soon as it is stored; nodes read it a moment later. */
function stateOf(row: TargetRow, { pause }: AppliedSettings, ofNodes: TargetState): TargetState {
  if (pause) return 'paused'
  if (row.openedAt !== null) return 'circuit_open'
  return ofNodes === 'paused' ? 'available' : ofNodes
}

const isSet = ({ target, applied }: TargetView) =>
  [applied.limit, applied.rate, applied.pause].some((setting) => setting?.pattern === target)

const tooMany = () =>
  new Refusal(
    'too_many_target_settings',
    `The project has reached the limit of ${MAX_TARGET_SETTINGS} targets with settings. Remove the settings of one first.`,
  )
