/** Tasks: reading and changing them. */
import { queryOptions } from '@tanstack/react-query'
import { projectHeader } from './chosen-project.ts'
import { type Answer, ask, type ChangeOptions, get, post, queryOf } from './client.ts'
import { inPages } from './pages.ts'
import type {
  ActionType,
  GivenSchedule,
  Page,
  Preview,
  Schedule,
  Task,
  TaskInput,
  TaskState,
  WhyNotRunning,
} from './wire.ts'

/** Filters of the list of tasks. */
export interface TaskFilter {
  readonly q?: string | undefined
  readonly state?: TaskState | undefined
  readonly type?: ActionType | undefined
  readonly tag?: string | undefined
  readonly owner?: string | undefined
}

export const TASK_PAGE_SIZE = 100

export const taskKeys = {
  lists: ['tasks'] as const,
  list: (filter: TaskFilter) => ['tasks', filter] as const,
  one: (id: string) => ['task', id] as const,
}

export const tasksQuery = (filter: TaskFilter) =>
  inPages<Task>({
    queryKey: taskKeys.list(filter),
    path: '/v1/tasks',
    filter: { ...filter, include: 'recent' },
    limit: TASK_PAGE_SIZE,
  })

/** Maximum number of tasks for one bulk action. For more, narrow the filter or use the API. */
export const MOST_MATCHED = 10_000
const MATCHED_PAGE_SIZE = 200

/** Reads every task that matches a filter, page by page, and reports the count so far. */
export async function allTasks(
  filter: TaskFilter,
  { signal, onProgress }: { readonly signal: AbortSignal; readonly onProgress: (count: number) => void },
): Promise<{ readonly tasks: readonly Task[]; readonly isCut: boolean }> {
  const tasks: Task[] = []
  let cursor: string | null = null
  do {
    const page: Page<Task> = await get(
      `/v1/tasks${queryOf({ ...filter, limit: MATCHED_PAGE_SIZE, cursor })}`,
      signal,
    )
    tasks.push(...page.items)
    onProgress(tasks.length)
    cursor = page.nextCursor
  } while (cursor !== null && tasks.length < MOST_MATCHED)
  return { tasks, isCut: cursor !== null }
}

export const taskQuery = (id: string) =>
  queryOptions({
    queryKey: taskKeys.one(id),
    queryFn: ({ signal }) => get<Task>(`/v1/tasks/${encodeURIComponent(id)}?include=recent`, signal),
  })

const askWhy = (id: string, at: string | undefined, signal: AbortSignal): Promise<WhyNotRunning> =>
  get(`/v1/tasks/${encodeURIComponent(id)}/why${queryOf({ at })}`, signal)

/** Why a task is not running; refetched whenever the task has changed. */
export const whyQuery = ({ id, state, version, nextFireAt, openRun }: Task) =>
  queryOptions({
    queryKey: ['why', id, { state, version, nextFireAt, run: openRun?.id, runState: openRun?.state }],
    queryFn: ({ signal }) => askWhy(id, undefined, signal),
  })

/** Why a task was not running at a past instant. */
export const whyThenQuery = (id: string, at: string) =>
  queryOptions({
    queryKey: ['why-then', id, at],
    queryFn: ({ signal }) => askWhy(id, at, signal),
  })

/** The fields that decide when a task is due, also of a task that is not stored yet. */
export interface PreviewInput {
  /** Either in its stored form or in words. */
  readonly schedule: GivenSchedule
  /** The seed from which H in a cron expression is derived. */
  readonly seed?: string
  readonly startAt?: string
  readonly endAt?: string
  readonly count?: number
  readonly jitter?: string
}

/** A fixed rate without an anchor is aligned to the task's start or creation. Editing keeps that alignment. */
export function onGridOf(task: Task | undefined, schedule: GivenSchedule): GivenSchedule {
  if (!task || schedule.type === 'words') return schedule
  const anchored = <T extends Schedule>(trigger: T): T =>
    trigger.type === 'every' && trigger.anchor === undefined
      ? { ...trigger, anchor: task.startAt ?? task.createdAt }
      : trigger
  return schedule.type === 'several'
    ? { ...schedule, triggers: schedule.triggers.map(anchored) }
    : anchored(schedule)
}

export const previewQuery = (input: PreviewInput | null) =>
  queryOptions({
    queryKey: ['preview', input],
    queryFn: () => post<Preview>('/v1/schedules/preview', input),
    enabled: input !== null,
    staleTime: 30_000,
  })

/** Requests with the same key create the task only once. */
export const createTask = (input: TaskInput, key: string = crypto.randomUUID()): Promise<Task> =>
  post('/v1/tasks', input, { headers: { 'idempotency-key': key } })

/** Changes a task if it is still at the version that the user saw; otherwise the server answers 412. */
export const editTask = (
  id: string,
  edit: Partial<TaskInput>,
  { version, ...options }: ChangeOptions & { readonly version: number },
): Promise<Answer<Task>> =>
  ask('PATCH', `/v1/tasks/${id}`, { body: edit, headers: { 'if-match': `"${version}"` }, ...options })

/** Reason and end of a pause. Without an end the task stays paused until it is resumed. */
export interface Pause {
  readonly reason?: string | null
  readonly until?: string | null
}

export const pauseTask = (id: string, pause?: Pause): Promise<Task> => post(`/v1/tasks/${id}/pause`, pause)
export const resumeTask = (id: string, body?: Pick<Pause, 'reason'>): Promise<Task> =>
  post(`/v1/tasks/${id}/resume`, body)

/** How many of the next occurrences to skip, and why. */
export interface SkipNext {
  readonly count: number
  readonly reason?: string
}

export const skipNext = (id: string, skip: SkipNext): Promise<Task> => post(`/v1/tasks/${id}/skip-next`, skip)
export const unskip = async (id: string, options?: ChangeOptions): Promise<Task> =>
  (await ask<Task>('DELETE', `/v1/tasks/${id}/skip-next`, options)).data
export const deleteTask = async (id: string, options?: ChangeOptions): Promise<void> => {
  await ask('DELETE', `/v1/tasks/${id}`, options)
}

/** Deletes a task while the page is being closed: `keepalive` lets the browser send the request without waiting for the answer. */
export function deleteTaskOnLeaving(id: string): null {
  const path = `/v1/tasks/${id}`
  void fetch(path, { method: 'DELETE', headers: projectHeader(path), keepalive: true }).catch(() => null)
  return null
}
