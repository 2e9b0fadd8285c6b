import { QueryClient } from '@tanstack/react-query'
import { ApiError } from './client.ts'

const RETRIES = 3

/** What is shown stays until something newer is there; a refusal is an answer and not worth a second try. */
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
