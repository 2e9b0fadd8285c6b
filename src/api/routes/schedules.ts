import { describeSchedule, dstNotes } from '../../core/schedule/describe.ts'
import { firstOccurrence, nextOccurrence } from '../../core/schedule/occurrences.ts'
import type { Plan, Schedule } from '../../core/schedule/schedule.ts'
import { instantMs } from '../../core/task.ts'
import type { App } from '../app.ts'
import { localTime } from '../local-time.ts'
import type { Context } from '../operations/context.ts'
import { utc } from '../present.ts'
import { ProblemDocument } from '../schemas/problem-document.ts'
import { Preview, PreviewRequest } from '../schemas/schedule.ts'

/** Notes are looked for this far ahead, also when the listed instants end sooner. */
const NOTES_AHEAD_MS = 366 * 86_400_000
const MAX_NOTES = 10

export function scheduleRoutes(app: App, { clock }: Context): void {
  app.post(
    '/v1/schedules/preview',
    {
      schema: {
        tags: ['schedules'],
        summary: 'When a schedule will fire',
        body: PreviewRequest,
        response: { 200: Preview, '4xx': ProblemDocument, '5xx': ProblemDocument },
      },
    },
    async ({ body }) => {
      const schedule = body.schedule as Schedule
      const from = body.from === undefined ? Math.floor(clock.now()) : instantMs(body.from)
      const startAt = body.startAt === undefined ? null : instantMs(body.startAt)
      const plan: Plan = {
        schedule,
        startAt,
        endAt: body.endAt === undefined ? null : instantMs(body.endAt),
        anchorAt: startAt ?? from,
      }
      const timezone = 'timezone' in schedule ? schedule.timezone : null
      return {
        description: describeSchedule(schedule),
        timezone,
        occurrences: upcoming(plan, from, body.count).map((at) => ({
          at: utc(at),
          local: timezone === null ? null : localTime(at, timezone),
        })),
        notes: dstNotes(plan, from, from + NOTES_AHEAD_MS, MAX_NOTES).map(
          ({ instant, wall, kind, note }) => ({
            at: instant === null ? null : utc(instant),
            wall,
            kind,
            note,
          }),
        ),
      }
    },
  )
}

function upcoming(plan: Plan, from: number, count: number): number[] {
  const isRelative = plan.schedule.type === 'once' || plan.schedule.type === 'delay'
  const found: number[] = []
  let at = isRelative ? firstOccurrence(plan, from) : nextOccurrence(plan, from)
  while (at !== null && found.length < count) {
    found.push(at)
    at = nextOccurrence(plan, at)
  }
  return found
}
