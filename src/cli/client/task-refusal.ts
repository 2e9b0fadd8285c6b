/** Reports validation errors of tasks built from flags, with the names of the flags. */
import { naming } from './refusal.ts'
import { type Flags, flagAt } from './task-flags.ts'

export const namingFlags = <T>(flags: Flags, verb: string, work: () => Promise<T>): Promise<T> =>
  naming((pointer) => flagAt(pointer, flags), `belfry task ${verb} --help`, work)
