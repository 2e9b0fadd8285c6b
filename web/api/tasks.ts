/** Tasks: reading and changing them. */
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { type Answer, ask, get, post, queryOf } from './client.ts'
import type {
  ActionType,
  Page,
  Preview,
  Schedule,
  Task,
  TaskInput,
  TaskState,
  WhyNotRunning,
} from './wire.ts'

/** What a list of tasks can be narrowed down to. */
export interface TaskFilter {
  readonly q?: string | undefined
  readonly state?: TaskState | undefined
  readonly type?: ActionType | undefined
  readonly tag?: string | undefined
  readonly owner?: string | undefined
}

const PAGE_SIZE = 100

export const taskKeys = {
  lists: ['tasks'] as const,
  list: (filter: TaskFilter) => ['tasks', filter] as const,
  one: (id: string) => ['task', id] as const,
}

export const tasksQuery = (filter: TaskFilter) =>
  infiniteQueryOptions({
    queryKey: taskKeys.list(filter),
    queryFn: ({ pageParam, signal }) =>
      get<Page<Task>>(
        `/v1/tasks${queryOf({ ...filter, include: 'recent', limit: PAGE_SIZE, cursor: pageParam })}`,
        signal,
      ),
    initialPageParam: null as string | null,
    getNextPageParam: ({ nextCursor }) => nextCursor,
  })

export const taskQuery = (id: string) =>
  queryOptions({
    queryKey: taskKeys.one(id),
    queryFn: ({ signal }) => get<Task>(`/v1/tasks/${encodeURIComponent(id)}?include=recent`, signal),
  })

/** Why a task is not running; asked again whenever the task has changed. */
export const whyQuery = ({ id, state, version, nextFireAt, openRun }: Task) =>
  queryOptions({
    queryKey: ['why', id, { state, version, nextFireAt, run: openRun?.id, runState: openRun?.state }],
    queryFn: ({ signal }) => get<WhyNotRunning>(`/v1/tasks/${encodeURIComponent(id)}/why`, signal),
  })

/** What decides when a task is due, before it is one. */
export interface PreviewInput {
  /** As it is stored, or in words. */
  readonly schedule: Schedule | string
  /** What H in it is drawn from. */
  readonly seed?: string
  readonly startAt?: string
  readonly endAt?: string
  readonly count?: number
}

/** A grid without an anchor goes through the task's start or creation, and keeps that phase when it is edited. */
export function onGridOf(task: Task | undefined, schedule: Schedule | string): Schedule | string {
  if (!task || typeof schedule === 'string') return schedule
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

/** With the same key the same task is created once, however often it is asked for. */
export const createTask = (input: TaskInput, key: string = crypto.randomUUID()): Promise<Task> =>
  post('/v1/tasks', input, { 'idempotency-key': key })

/** Changes a task that still is at the version one has seen; refused with 412 when it is not. */
export const editTask = (id: string, edit: Partial<TaskInput>, version: number): Promise<Answer<Task>> =>
  ask('PATCH', `/v1/tasks/${id}`, { body: edit, headers: { 'if-match': `"${version}"` } })

export const pauseTask = (id: string): Promise<Task> => post(`/v1/tasks/${id}/pause`)
export const resumeTask = (id: string): Promise<Task> => post(`/v1/tasks/${id}/resume`)
export const deleteTask = async (id: string): Promise<void> => {
  await ask('DELETE', `/v1/tasks/${id}`)
}
