import { QueryClient } from '@tanstack/react-query'
import { ApiError } from './client.ts'

const RETRIES = 3

/** Data stays on the screen until newer data arrives. A refusal is a final answer and is not retried. */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 1_000,
      networkMode: 'always',
      retry: (count, error) => count < RETRIES && !isRefusal(error),
    },
    mutations: { networkMode: 'always' },
  },
})

function isRefusal(error: unknown): boolean {
  return error instanceof ApiError && error.problem.status >= 400 && error.problem.status < 500
}
