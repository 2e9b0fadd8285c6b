/** Explains why a task is not running. */

import { z } from 'zod'
import { invalidInput } from '../../../core/errors.ts'
import { instantMs } from '../../../core/task/task.ts'
import { utc } from '../../../core/values/utc.ts'
import type { Why, WhyFacts } from '../../../core/why/why.ts'
import { Uuid } from '../../../operations/validation/values.ts'
import { explainTask } from '../../../operations/why/why.ts'
import type { App } from '../../app.ts'
import { problems } from '../../http/schemas/problem-document.ts'
import { ReadWhy, WhyNotRunning } from './schemas.ts'

const read = {
  operationId: 'explainTask',
  tags: ['tasks'],
  summary: 'Explain why a task is not running, now or at a past time',
  description:
    'Returns the main cause: a `code` for programs, a `sentence` for people, the facts behind it and advice. `also` lists other causes.',
  params: z.object({ id: Uuid }),
  querystring: ReadWhy,
  response: { 200: WhyNotRunning, ...problems(404) },
}

/** Tolerated difference between a client's clock and the server's. */
const AHEAD_MS = 1_000

export function whyRoutes(app: App): void {
  app.get(
    '/v1/tasks/:id/why',
    { schema: read, config: { access: 'read' } },
    async ({ params, query, context }) => {
      const at = query.at === undefined ? null : instantMs(query.at)
      const now = context.clock.now()
      if (at !== null && at > now + AHEAD_MS)
        throw invalidInput([
          {
            pointer: '?at',
            detail: 'is in the future; give a past instant, or omit it for the current state',
          },
        ])
      const {
        at: about,
        isNow,
        causes,
      } = await explainTask(context, params.id, at === null ? null : Math.min(at, Math.floor(now)))
      const [first, ...others] = causes.map(present)
      return { at: utc(about), isNow, ...(first as ReturnType<typeof present>), also: others }
    },
  )
}

const INSTANTS = ['scheduledFor', 'since', 'until', 'nextAt'] as const

function present({ code, sentence, facts, advice }: Why): Omit<WhyNotRunning, 'at' | 'isNow' | 'also'> {
  const {
    scheduledFor: _,
    since: __,
    until: ___,
    nextAt: ____,
    labels,
    heldBy,
    secrets,
    files,
    ...plain
  } = facts
  return {
    code,
    sentence,
    facts: {
      ...plain,
      ...(labels ? { labels: [...labels] } : {}),
      ...(heldBy ? { heldBy: [...heldBy] } : {}),
      ...(secrets ? { secrets: [...secrets] } : {}),
      ...(files ? { files: [...files] } : {}),
      ...instants(facts),
    },
    advice,
  }
}

function instants(facts: WhyFacts): Partial<Record<(typeof INSTANTS)[number], string>> {
  return Object.fromEntries(
    INSTANTS.flatMap((name) => {
      const at = facts[name]
      return at === undefined || !Number.isFinite(at) ? [] : [[name, utc(at)]]
    }),
  )
}
