/** Refusals of a task that was made out of flags, told by the names of the flags. */
import { RefusedError } from './problem.ts'
import { type Flags, flagAt } from './task-flags.ts'

export async function namingFlags<T>(
  flags: Flags,
  verb: 'create' | 'edit',
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof RefusedError) || error.problem.status !== 422) throw error
    throw new RefusedError(error.problem, (pointer) => flagAt(pointer, flags), `belfry task ${verb} --help`)
  }
}
