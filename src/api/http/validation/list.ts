/** Bodies whose list is parsed and checked item by item, later, in turns with everything else that the process does. */
import { z } from 'zod'
import type { Problem } from '../../../core/errors.ts'
import { Turns } from '../../../runtime/turns.ts'
import type { ListItem } from '../body-parsing.ts'
import { invalidInput, MAX_PROBLEMS, parse, validatorCompiler } from './parse.ts'
import { jsonPointer } from './place.ts'

/** Checks of the body only that it holds such a list. Fastify types a compiler by the whole of its schemas, but calls it for each part. */
export function ofTheList(member: string, maxItems: number): never {
  const schema = z.strictObject({ [member]: z.array(z.unknown()).min(1).max(maxItems) })
  const compiler: typeof validatorCompiler = (part) =>
    validatorCompiler(part.httpPart === 'body' ? { ...part, schema } : part)
  return compiler as never
}

/** What is checked, and what else is to be done with each item as it was sent. */
export interface ItemCheck<T> {
  readonly schema: z.ZodType<T>
  /** The list in the body. */
  readonly member: string
  readonly onItem?: (item: unknown, index: number) => void
}

/** The items as the schema has them. Everything that is wrong is told, up to a bound. */
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

export const located = (pointer: string, problems: readonly Problem[]): Problem[] =>
  problems.map((problem) => ({ ...problem, pointer: pointer + problem.pointer }))
