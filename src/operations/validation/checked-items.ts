/** Parses and validates lists item by item, yielding to other work of the process. */
import type { z } from 'zod'
import { invalidInput, located, MAX_PROBLEMS, type Problem } from '../../core/errors.ts'
import { jsonPointer } from '../../core/values/json-pointer.ts'
import { Turns } from '../../runtime/turns.ts'
import { parse } from './parse.ts'

/** One item of a list, not parsed yet. */
export interface ListItem {
  readonly bytes: number
  /** The parsed item. Throws a refusal if it is not valid JSON. */
  parse(): unknown
}
/** The schema of the items, and what else to do with each item as it was sent. */
export interface ItemCheck<T> {
  readonly schema: z.ZodType<T>
  /** The name of the list in the body. */
  readonly member: string
  readonly onItem?: (item: unknown, index: number) => void
}

/** Returns the parsed items. Throws all problems together, up to a bound. */
export async function checkedItems<T>(
  items: readonly ListItem[],
  { schema, member, onItem }: ItemCheck<T>,
): Promise<T[]> {
  const checked: T[] = []
  const problems: Problem[] = []
  const turns = new Turns()
  for (const [index, item] of items.entries()) {
    const sent = item.parse()
    onItem?.(sent, index)
    const parsed = parse(schema, sent, 'body')
    if (parsed.ok) checked.push(parsed.value)
    else problems.push(...located(jsonPointer([member, index]), parsed.problems))
    if (problems.length >= MAX_PROBLEMS) break
    if (turns.isOver) await turns.pass()
  }
  if (problems.length > 0) throw invalidInput(problems.slice(0, MAX_PROBLEMS))
  return checked
}
