/** Targets: the servers that tasks call. */
import { queryOptions } from '@tanstack/react-query'
import { ask, type ChangeOptions, get, post } from './client.ts'
import { inPages } from './pages.ts'
import type { Target, TargetEdit, TargetState } from './wire.ts'

const TARGET_PAGE_SIZE = 100

/** Filters of the list of targets. */
export interface TargetFilter {
  readonly q?: string | undefined
  readonly state?: TargetState | undefined
}

export const targetKeys = {
  lists: ['targets'] as const,
  ones: ['target'] as const,
  one: (target: string) => ['target', target] as const,
}

export const pathOfTarget = (target: string, act = ''): string =>
  `/v1/targets/${encodeURIComponent(target)}${act}`

export const targetsQuery = (filter: TargetFilter) =>
  inPages<Target>({
    queryKey: [...targetKeys.lists, filter],
    path: '/v1/targets',
    filter: { ...filter },
    limit: TARGET_PAGE_SIZE,
  })

export const targetQuery = (target: string) =>
  queryOptions({
    queryKey: targetKeys.one(target),
    queryFn: ({ signal }) => get<Target>(pathOfTarget(target), signal),
  })

export const pauseTarget = (target: string, body?: { reason?: string }): Promise<Target> =>
  post(pathOfTarget(target, '/pause'), body)

export const resumeTarget = (target: string): Promise<Target> => post(pathOfTarget(target, '/resume'))

export const editTarget = async (
  target: string,
  body: TargetEdit,
  options?: ChangeOptions,
): Promise<Target> => (await ask<Target>('PATCH', pathOfTarget(target), { body, ...options })).data
