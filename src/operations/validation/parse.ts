/** Checks requests against their schemas; what is wrong becomes a refusal that names every field. */
import { z } from 'zod'
import { MAX_PROBLEMS, type Problem } from '../../core/errors.ts'
import { explain, unknownField } from './explain.ts'
import { placeIn, type RequestPart } from './place.ts'

/** Explaining a problem costs more than finding it, so this many are explained. */
const MAX_EXPLAINED = 1_000

const UNEXPLAINED = 'is not valid'

/** What a schema without asynchronous parts makes of a value. */
interface Checked<T> {
  readonly value: T
  readonly issues: readonly z.core.$ZodRawIssue[]
}

export type Parsed<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problems: readonly Problem[] }

export function parse<T>(schema: z.ZodType<T>, data: unknown, part: RequestPart): Parsed<T> {
  const knownFields = new Map<readonly string[], readonly string[]>()
  let explained = 0
  const context = {
    async: false,
    error: (issue: z.core.$ZodRawIssue) => {
      explained += 1
      // Unions explain what is wrong with each of their kinds by themselves, however much it is.
      if (explained > MAX_EXPLAINED) return UNEXPLAINED
      if (issue.code === 'unrecognized_keys') knownFields.set(issue.keys, fieldsOf(issue.inst))
      return explain(issue)
    },
  }
  const { value, issues: found } = schema._zod.run({ value: data, issues: [] }, context) as Checked<T>
  if (found.length === 0) return { ok: true, value }

  const issues = found
    .slice(0, MAX_EXPLAINED)
    .map((issue) => z.core.util.finalizeIssue(issue, context, z.config()))
  const problems = new Map<string, Problem>()
  for (const issue of issues.flatMap(inChosenVariant)) {
    for (const problem of unfold(issue, part, knownFields)) {
      if (problems.size === MAX_PROBLEMS) break
      // The first thing that is wrong with a field is the one to mend.
      if (!problems.has(problem.pointer)) problems.set(problem.pointer, problem)
    }
  }
  return { ok: false, problems: [...problems.values()] }
}

/**
 * A union of values of different kinds: a list is checked as the list it is, and nobody wants to know that it is
 * no object either. What is of none of the kinds keeps the issue of the union.
 */
function inChosenVariant(issue: z.core.$ZodIssue): z.core.$ZodIssue[] {
  if (issue.code !== 'invalid_union') return [issue]
  const isOtherKind = (issues: readonly z.core.$ZodIssue[]) =>
    issues.some(({ code, path }) => code === 'invalid_type' && path.length === 0)
  const chosen = issue.errors.find((issues) => issues.length > 0 && !isOtherKind(issues))
  if (chosen === undefined) return [issue]
  return chosen.map((inner) => ({ ...inner, path: [...issue.path, ...inner.path] })).flatMap(inChosenVariant)
}

/** Unknown fields are told one by one, each at its own place. */
function unfold(
  issue: z.core.$ZodIssue,
  part: RequestPart,
  knownFields: ReadonlyMap<readonly string[], readonly string[]>,
): Problem[] {
  if (issue.code !== 'unrecognized_keys')
    return [{ pointer: placeIn(part, issue.path), detail: issue.message }]
  const known = knownFields.get(issue.keys) ?? []
  return issue.keys.slice(0, MAX_PROBLEMS).map((key) => ({
    pointer: placeIn(part, [...issue.path, key]),
    detail: unknownField(key, known),
  }))
}

function fieldsOf(schema: unknown): string[] {
  return schema instanceof z.ZodObject ? Object.keys(schema.shape) : []
}
