/** Reports validation errors of requests built from flags, with the names of the flags. */
import { type PlaceName, RefusedError } from './problem.ts'

export async function naming<T>(
  nameOf: PlaceName,
  hint: string,
  work: () => Promise<T>,
  hintIfMissing?: string,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof RefusedError && error.problem.status === 404 && hintIfMissing !== undefined)
      throw new RefusedError(error.problem, { nameOf, hint: hintIfMissing })
    if (!(error instanceof RefusedError) || error.problem.status !== 422) throw error
    throw new RefusedError(error.problem, { nameOf, hint })
  }
}

/**
 * Like `naming`, for requests in which each field has a flag of the same name: `/maxAhead` is `--max-ahead`, `/filter/taskId`
 * is `--task-id`, `?limit` is `--limit`.
 */
export const namingAll = <T>(hint: string, work: () => Promise<T>): Promise<T> =>
  naming(flagOfField, hint, work)

export const flagOfField = (pointer: string): string => {
  const name = pointer.split(/[/?]/).findLast((part) => /^[a-z]/i.test(part)) ?? ''
  return name === '' ? 'the request' : `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}
