/** Projects, the limits they set for the schedules of their tasks, and who sends their messages. */

import { invalidInput, Refusal } from '../../core/errors.ts'
import { uuidv7 } from '../../core/ids.ts'
import { paceOf } from '../../core/schedule/pace.ts'
import { triggersOf } from '../../core/schedule/schedule.ts'
import { MIN_INTERVAL_MS } from '../../core/schedule/validate-schedule.ts'
import { durationMs, planOf, type TaskDefinition } from '../../core/task/task.ts'
import { formatDuration } from '../../core/values/duration.ts'
import { isInside, type Network, parseNetwork } from '../../core/values/network.ts'
import { type Database, violatedConstraint } from '../../store/database/database.ts'
import {
  editProject,
  insertProject,
  listProjects,
  lockProject,
  type ProjectLimits,
  type ProjectNetwork,
  type ProjectQuery,
  type ProjectRow,
  type ProjectSender,
  readProject,
} from '../../store/projects/projects.ts'
import { recordChange } from '../audit-log/record-change.ts'
import type { Context } from '../context.ts'

/** Projects of an installation. */
const MAX_PROJECTS = 10_000

/** The project of the context, with the limits that hold: its own, or those that the node was started with. */
export async function getProject({ db, projectId, limits }: Context): Promise<ProjectRow> {
  const [project] = await db.run(readProject(projectId))
  if (!project) throw new Refusal('not_found', `Project ${projectId} does not exist.`)
  return withLimits(project, limits)
}

const withLimits = (project: ProjectRow, { minPeriodMs, maxAheadMs }: ProjectLimits): ProjectRow => ({
  ...project,
  minPeriodMs: project.minPeriodMs ?? minPeriodMs,
  maxAheadMs: project.maxAheadMs ?? maxAheadMs,
})

/** The projects that exist for the caller, by name. */
export async function findProjects(
  { db, grant, limits }: Context,
  query: Omit<ProjectQuery, 'ids'>,
): Promise<ProjectRow[]> {
  const ids = grant.installation === null ? [...grant.projects.keys()] : null
  return (await db.run(listProjects({ ...query, ids }))).map((row) => withLimits(row, limits))
}

export async function createProject(context: Context, name: string, edit: ProjectEdit): Promise<ProjectRow> {
  const { db } = context
  const id = uuidv7()
  try {
    await db.transaction(async (tx) => {
      const [made] = await tx.run(insertProject({ id, name, maxProjects: MAX_PROJECTS }))
      if (!made)
        throw new Refusal('too_many_projects', `There are ${MAX_PROJECTS} projects, which is the limit.`)
      await tx.run(editProject(id, storedEdit(context, edit)))
      const [project] = await tx.run(readProject(id))
      await recordChange(tx, context, {
        action: 'project.create',
        projectId: null,
        subject: { kind: 'project', id, name },
        after: project && recorded(project),
      })
    })
  } catch (error) {
    if (violatedConstraint(error) === 'project_name_key')
      throw new Refusal('name_in_use', `A project with the name ${name} exists.`)
    throw refusedLimits(error)
  }
  return getProject({ ...context, projectId: id })
}

/** What is to change; null removes a limit or a sender. Durations are text, such as `10s`. */
export interface ProjectEdit {
  readonly limits?:
    | { readonly minPeriod?: string | null | undefined; readonly maxAhead?: string | null | undefined }
    | undefined
  readonly mail?:
    | { readonly from?: string | null | undefined; readonly replyTo?: string | null | undefined }
    | undefined
  readonly network?: { readonly allowedPrivate?: readonly string[] | null | undefined } | undefined
}

export async function changeProject(context: Context, edit: ProjectEdit): Promise<ProjectRow> {
  const { db, projectId } = context
  try {
    await db.transaction(async (tx) => {
      await tx.run(lockProject(projectId))
      const [before] = await tx.run(readProject(projectId))
      await tx.run(editProject(projectId, storedEdit(context, edit)))
      const [after] = await tx.run(readProject(projectId))
      await recordChange(tx, context, {
        action: 'project.edit',
        subject: { kind: 'project', id: projectId, name: after?.name },
        before: before && recorded(before),
        after: after && recorded(after),
      })
    })
  } catch (error) {
    throw refusedLimits(error)
  }
  known.get(db)?.delete(projectId)
  return getProject(context)
}

function storedEdit(
  context: Context,
  { limits, mail, network }: ProjectEdit,
): Partial<ProjectLimits & ProjectSender & ProjectNetwork> {
  const toMs = (text: string | null | undefined) => (text == null ? text : durationMs(text))
  const [minPeriodMs, maxAheadMs] = [toMs(limits?.minPeriod), toMs(limits?.maxAhead)]
  return {
    ...(minPeriodMs === undefined ? {} : { minPeriodMs }),
    ...(maxAheadMs === undefined ? {} : { maxAheadMs }),
    ...(mail?.from === undefined ? {} : { mailFrom: mail.from }),
    ...(mail?.replyTo === undefined ? {} : { mailReplyTo: mail.replyTo }),
    ...(network?.allowedPrivate === undefined
      ? {}
      : { allowedPrivate: allowedWithin(context, network.allowedPrivate) }),
  }
}

function refusedLimits(error: unknown): unknown {
  if (violatedConstraint(error) !== 'project_limits_leave_room') return error
  const detail = 'must not be greater than maxAhead'
  return new Refusal('invalid_input', `/limits/minPeriod ${detail}.`, {
    problems: [{ pointer: '/limits/minPeriod', detail }],
  })
}

/** A project can only give up what the installation allows; every call is held to both. */
function allowedWithin({ privateReach }: Context, texts: readonly string[] | null): readonly string[] | null {
  if (texts === null || privateReach === 'all') return texts
  const allowed = privateReach.flatMap((text) => parseNetwork(text) ?? [])
  const problems = texts.flatMap((text, i) =>
    isInside(allowed, parseNetwork(text) as Network)
      ? []
      : [
          {
            pointer: `/network/allowedPrivate/${i}`,
            detail: `must be part of the networks that this installation allows: ${privateReach.join(', ') || 'none'}`,
          },
        ],
  )
  if (problems.length > 0) throw invalidInput(problems)
  return texts
}

/** What users set of a project. */
const recorded = ({ minPeriodMs, maxAheadMs, mailFrom, mailReplyTo, allowedPrivate }: ProjectRow) => ({
  limits: {
    minPeriod: minPeriodMs === null ? null : formatDuration(minPeriodMs),
    maxAhead: maxAheadMs === null ? null : formatDuration(maxAheadMs),
  },
  mail: { from: mailFrom, replyTo: mailReplyTo },
  network: { allowedPrivate },
})

/** Limits are asked for with each task that is made. Nodes follow a change that another one made within this time. */
const KNOWN_FOR_MS = 1_000

interface KnownLimits {
  readonly readAt: number
  readonly limits: Promise<ProjectLimits>
}

/** By project. */
const known = new WeakMap<Database, Map<string, KnownLimits>>()

/** The limits of the project, as they were at most a second ago. */
export async function limitsOf(context: Context): Promise<ProjectLimits> {
  const { db, projectId } = context
  const ofProjects = known.get(db) ?? new Map<string, KnownLimits>()
  known.set(db, ofProjects)
  const found = ofProjects.get(projectId)
  if (found && performance.now() - found.readAt < KNOWN_FOR_MS) return found.limits
  const limits = getProject(context)
  ofProjects.set(projectId, { readAt: performance.now(), limits })
  limits.catch(() => ofProjects.delete(projectId))
  return limits
}

/** Refuses a definition that is due more often, or further ahead, than its project allows. */
export function keepLimits(definition: TaskDefinition, limits: ProjectLimits, now: number): void {
  const { minPeriodMs, maxAheadMs } = limits
  const { schedule } = definition
  if (schedule.type === 'manual' || !isLimited(definition, limits)) return
  const plan = planOf(definition)
  const { shortestMs, longestMs, first } = paceOf(plan, now)
  const place = 'interval' in schedule ? '/schedule/interval' : '/schedule'
  const least = minPeriodMs ?? MIN_INTERVAL_MS
  if (shortestMs !== null && shortestMs < least)
    throw beyond(place, `is due every ${formatDuration(shortestMs)}`, { minPeriod: formatDuration(least) })
  if (maxAheadMs === null) return
  const maxAhead = formatDuration(maxAheadMs)
  if (longestMs !== null && longestMs > maxAheadMs)
    throw beyond(place, `is due ${formatDuration(longestMs)} apart`, { maxAhead })
  const distance = first === null ? 0 : first - now
  const at =
    schedule.type === 'once' ? '/schedule/at' : definition.startAt === null ? '/schedule' : '/startAt'
  if (distance > maxAheadMs) throw beyond(at, `is first due in ${formatDuration(distance)}`, { maxAhead })
}

/** Whether there is anything to measure: a single wall-clock trigger is never due twice in a second. */
function isLimited({ schedule }: TaskDefinition, { minPeriodMs, maxAheadMs }: ProjectLimits): boolean {
  const isPlain = triggersOf(schedule).length < 2 && schedule.type !== 'dates'
  return maxAheadMs !== null || !isPlain || (minPeriodMs !== null && minPeriodMs > MIN_INTERVAL_MS)
}

function beyond(pointer: string, is: string, limit: Readonly<Record<string, string>>): Refusal {
  const [[name, value] = ['', '']] = Object.entries(limit)
  const allowed =
    name === 'minPeriod' ? `at most one occurrence every ${value}` : `occurrences at most ${value} ahead`
  const detail = `${is}; the project allows ${allowed} (limits.${name})`
  return new Refusal('beyond_limits', `${pointer} ${detail}.`, {
    problems: [{ pointer, detail }],
    extra: { limit },
  })
}
