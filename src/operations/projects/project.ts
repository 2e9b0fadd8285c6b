/** Projects, their limits, what is kept of them, and how their messages are sent. */

import { allows } from '../../core/access/role.ts'
import { invalidInput, Refusal } from '../../core/errors.ts'
import { uuidv7 } from '../../core/ids.ts'
import { editFrom, inWords, type LimitsEdit, type ProjectLimits } from '../../core/limits/limits.ts'
import { isInside, type Network, parseNetwork } from '../../core/values/network.ts'
import { formatRetention, parseRetention, type Retention } from '../../core/values/retention.ts'
import { violatedConstraint } from '../../store/database/database.ts'
import { lockCount } from '../../store/database/lock-count.ts'
import { withDeadlockRetry } from '../../store/database/retry-on-deadlock.ts'
import { deleteUse } from '../../store/limits/project-use.ts'
import {
  editProject,
  insertProject,
  listProjects,
  lockProject,
  type ProjectQuery,
  type ProjectRow,
  type ProjectSettings,
  readProject,
} from '../../store/projects/projects.ts'
import { makeProjectGate, setProjectGate } from '../../store/queues/project-gates.ts'
import { recordChange } from '../audit-log/record-change.ts'
import type { Context } from '../context.ts'
import { forgetCounts, limitsStorage } from '../limits/admit-tasks.ts'
import { forgetLimits, withDefaults } from '../limits/task-limits.ts'

/** Maximum number of projects of an installation. */
const MAX_PROJECTS = 10_000

/** Returns the project of the context, with the limits that apply: its own, or those that the node was started with. */
export async function getProject({ db, projectId, limits }: Context): Promise<ProjectRow> {
  const [project] = await db.run(readProject(projectId))
  if (!project) throw new Refusal('not_found', `Project ${projectId} does not exist.`)
  return withDefaults(project, limits)
}

/** Returns the projects that the caller has access to, by name. */
export async function findProjects(
  { db, grant, limits }: Context,
  query: Omit<ProjectQuery, 'ids'>,
): Promise<ProjectRow[]> {
  const ids = grant.installation === null ? [...grant.projects.keys()] : null
  return (await db.run(listProjects({ ...query, ids }))).map((row) => withDefaults(row, limits))
}

export async function createProject(context: Context, name: string, edit: ProjectEdit): Promise<ProjectRow> {
  const { db } = context
  const id = uuidv7()
  try {
    await db.transaction(async (tx) => {
      await tx.run(lockCount('projects', null))
      const [made] = await tx.run(insertProject({ id, name, maxProjects: MAX_PROJECTS }))
      if (!made)
        throw new Refusal('too_many_projects', `There are ${MAX_PROJECTS} projects, which is the limit.`)
      await tx.run(editProject(id, storedEdit(context, edit)))
      const [project] = await tx.run(readProject(id))
      if (project && (project.runRate ?? project.maxRunning) !== null) {
        await tx.run(makeProjectGate(id))
        await tx.run(setProjectGate({ ...project, projectId: id }))
      }
      await recordChange(tx, context, {
        action: 'project.create',
        projectId: null,
        subject: { kind: 'project', id, name },
        after: project && recorded(project),
      })
    })
  } catch (error) {
    if (violatedConstraint(error) === 'project_name_key')
      throw new Refusal('name_in_use', `A project with the name ${name} already exists.`)
    throw refusedLimits(error)
  }
  context.wakeUps.announceAccess()
  return getProject({ ...context, projectId: id })
}

/** A change of a project; null removes a limit or a setting. Durations are text, such as `10s`. */
export interface ProjectEdit {
  readonly limits?: LimitsEdit<ProjectLimits> | undefined
  readonly mail?:
    | {
        readonly from?: string | null | undefined
        readonly replyTo?: string | null | undefined
        readonly server?: string | null | undefined
      }
    | undefined
  readonly network?: { readonly allowedPrivate?: readonly string[] | null | undefined } | undefined
  readonly retention?:
    | { readonly history?: string | null | undefined; readonly auditLog?: string | null | undefined }
    | undefined
}

export async function changeProject(context: Context, edit: ProjectEdit): Promise<ProjectRow> {
  const { db, projectId, grant } = context
  const isBeyondProject =
    edit.limits !== undefined || edit.network !== undefined || edit.retention !== undefined
  if (isBeyondProject && !allows(grant, projectId, 'installation'))
    throw new Refusal(
      'forbidden',
      'The limits, networks and retention of a project are set by admins of the installation.',
    )
  const { runRate, maxRunning } = edit.limits ?? {}
  const limitsRuns = runRate !== undefined || maxRunning !== undefined
  if (limitsRuns) await db.run(makeProjectGate(projectId))
  try {
    await withDeadlockRetry(db, async (tx) => {
      await tx.run(lockProject(projectId))
      const [before] = await tx.run(readProject(projectId))
      await tx.run(editProject(projectId, storedEdit(context, edit)))
      const [after] = await tx.run(readProject(projectId))
      if (after && !limitsStorage(after)) await tx.run(deleteUse(projectId))
      if (after && limitsRuns) await tx.run(setProjectGate({ ...after, projectId }))
      const change = {
        action: 'project.edit',
        subject: { kind: 'project', id: projectId, name: after?.name },
      } as const
      await recordChange(tx, context, {
        ...change,
        before: before && recorded(before),
        after: after && recorded(after),
      })
      // The project's own log may be deleted by what this sets.
      if (edit.retention !== undefined)
        await recordChange(tx, context, {
          ...change,
          projectId: null,
          before: before && { retention: projectRetention(before) },
          after: after && { retention: projectRetention(after) },
        })
    })
  } catch (error) {
    throw refusedLimits(error)
  }
  forgetLimits(db)
  forgetCounts(db)
  if (edit.limits?.requestRate !== undefined) context.wakeUps.announceAccess()
  if (limitsRuns) context.wakeUps.announceQueues()
  return getProject(context)
}

function storedEdit(
  context: Context,
  { limits, mail, network, retention }: ProjectEdit,
): Partial<ProjectSettings> {
  return {
    ...editFrom<ProjectLimits>(limits ?? {}),
    ...(mail?.from === undefined ? {} : { mailFrom: mail.from }),
    ...(mail?.replyTo === undefined ? {} : { mailReplyTo: mail.replyTo }),
    ...(mail?.server === undefined ? {} : { mailServer: mail.server }),
    ...(network?.allowedPrivate === undefined
      ? {}
      : { allowedPrivate: allowedWithin(context, network.allowedPrivate) }),
    ...(retention?.history === undefined ? {} : { historyDays: daysOf(retention.history) }),
    ...(retention?.auditLog === undefined ? {} : { auditLogDays: daysOf(retention.auditLog) }),
  }
}

/** The text was validated before. */
function daysOf(text: string | null): number | null {
  const parsed = text === null ? null : parseRetention(text)
  return parsed?.ok ? parsed.days : null
}

function refusedLimits(error: unknown): unknown {
  if (violatedConstraint(error) !== 'project_limits_leave_room') return error
  const detail = 'must not be greater than maxAhead'
  return new Refusal('invalid_input', `/limits/minPeriod ${detail}.`, {
    problems: [{ pointer: '/limits/minPeriod', detail }],
  })
}

/**
 * Rejects networks that the installation does not allow. A project can only restrict what the installation allows; every call
 * must comply with both.
 */
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

/** Returns what users set of a project, for the audit log. */
const recorded = (row: ProjectRow) => ({
  limits: inWords(projectLimits(row)),
  mail: { from: row.mailFrom, replyTo: row.mailReplyTo, server: row.mailServer },
  network: { allowedPrivate: row.allowedPrivate },
  retention: projectRetention(row),
})

/** How long a project keeps what, in words. */
export const projectRetention = ({ historyDays, auditLogDays }: Retention) => ({
  history: historyDays === null ? null : formatRetention(historyDays),
  auditLog: auditLogDays === null ? null : formatRetention(auditLogDays),
})

/** Returns the limits of a project only. */
export const projectLimits = (row: ProjectLimits): ProjectLimits => ({
  minPeriodMs: row.minPeriodMs,
  maxAheadMs: row.maxAheadMs,
  requestRate: row.requestRate,
  maxPayloadBytes: row.maxPayloadBytes,
  runRate: row.runRate,
  maxRunning: row.maxRunning,
  maxTasks: row.maxTasks,
  maxStoredBytes: row.maxStoredBytes,
})
