import { z } from 'zod'
import { REFUSALS } from '../../../core/errors.ts'
import { PROBLEM_TYPE } from '../errors.ts'

/** The body of every error response (RFC 9457). */
const Problem = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string().describe('What is wrong with this request, in a sentence.'),
    code: z.string().describe('Stable error code; the documentation lists all codes.'),
    instance: z.string(),
    requestId: z.string(),
    errors: z
      .array(
        z.object({
          pointer: z
            .string()
            .describe(
              'Where the problem is: `/retry/limit` in the body, `?limit` in the query, `{id}` in the path, or the name of a header.',
            ),
          detail: z.string(),
        }),
      )
      .optional(),
  })
  .catchall(z.unknown())
  .meta({ id: 'Problem' })

type RefusalStatus = (typeof REFUSALS)[keyof typeof REFUSALS]['status']

interface ProblemAnswer {
  readonly description: string
  readonly content: { readonly [PROBLEM_TYPE]: { readonly schema: typeof Problem } }
}

/** Returns the error responses that an operation may give, by status. */
export function problems<S extends RefusalStatus>(...statuses: S[]) {
  const always = [400, 401, 403, 421, 422, 500, 503] as const
  const answers = [...always, ...statuses].map((status) => [
    status,
    { description: titlesOf(status), content: { [PROBLEM_TYPE]: { schema: Problem } } },
  ])
  return Object.fromEntries(answers) as Record<(typeof always)[number] | S, ProblemAnswer>
}

function titlesOf(status: number): string {
  const refusals = Object.values(REFUSALS).filter((refusal) => refusal.status === status)
  return refusals.map(({ title }) => title).join('; or: ')
}
