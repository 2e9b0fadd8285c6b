/** Validates requests against their schemas, and reports every invalid field. */
import { z } from 'zod'
import { MAX_PROBLEMS, type Problem } from '../../core/errors.ts'
import { explain, unknownField } from './explain.ts'
import { placeIn, type RequestPart } from './place.ts'

/** Maximum number of problems that are explained: explaining a problem costs more than finding it. */
const MAX_EXPLAINED = 1_000

const UNEXPLAINED = 'is not valid'

/** The result of a schema without asynchronous parts. */
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
      // Unions explain the problems of each of their variants themselves, without a bound.
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
      // Only the first problem of a field is reported.
      if (!problems.has(problem.pointer)) problems.set(problem.pointer, problem)
    }
  }
  return { ok: false, problems: [...problems.values()] }
}

/**
 * Handles unions of values of different types. A list is checked as a list, without reporting that it is not an object. A value
 * of none of the types keeps the issue of the union.
 */
function inChosenVariant(issue: z.core.$ZodIssue): z.core.$ZodIssue[] {
  if (issue.code !== 'invalid_union') return [issue]
  const isOtherKind = (issues: readonly z.core.$ZodIssue[]) =>
    issues.some(({ code, path }) => code === 'invalid_type' && path.length === 0)
  const chosen = issue.errors.find((issues) => issues.length > 0 && !isOtherKind(issues))
  if (chosen === undefined) return [issue]
  return chosen.map((inner) => ({ ...inner, path: [...issue.path, ...inner.path] })).flatMap(inChosenVariant)
}

/** Reports unknown fields one by one, each with its own pointer. */
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
