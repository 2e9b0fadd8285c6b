import { formatCount } from '../../src/core/words/time.ts'

/** `1 run`, `12 runs`. */
export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${formatCount(count)} ${count === 1 ? one : many}`
