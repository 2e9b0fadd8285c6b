/** Targets: the servers that calls go to. */
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { ask, get, post, queryOf } from './client.ts'
import type { Page, Target, TargetEdit, TargetState } from './wire.ts'

const TARGET_PAGE_SIZE = 100

/** What the list can be narrowed down to. */
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
  infiniteQueryOptions({
    queryKey: [...targetKeys.lists, filter],
    queryFn: ({ pageParam, signal }) =>
      get<Page<Target>>(
        `/v1/targets${queryOf({ ...filter, limit: TARGET_PAGE_SIZE, cursor: pageParam })}`,
        signal,
      ),
    initialPageParam: null as string | null,
    getNextPageParam: ({ nextCursor }) => nextCursor,
  })

export const targetQuery = (target: string) =>
  queryOptions({
    queryKey: targetKeys.one(target),
    queryFn: ({ signal }) => get<Target>(pathOfTarget(target), signal),
  })

export const pauseTarget = (target: string, body?: { reason?: string }): Promise<Target> =>
  post(pathOfTarget(target, '/pause'), body)

export const resumeTarget = (target: string): Promise<Target> => post(pathOfTarget(target, '/resume'))

export const editTarget = async (target: string, body: TargetEdit): Promise<Target> =>
  (await ask<Target>('PATCH', pathOfTarget(target), { body })).data
