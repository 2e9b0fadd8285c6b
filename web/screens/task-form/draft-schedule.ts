/** Converts a schedule to and from the fields of the form. */
import type { FoldPolicy, GapPolicy, GivenSchedule, Schedule } from '../../api/wire.ts'
import type { Draft } from './draft.ts'
import { readable } from './readable.ts'

export function scheduleFields(schedule: GivenSchedule): Partial<Draft> {
  switch (schedule.type) {
    case 'words':
      return { when: 'words', words: schedule.words, timezone: schedule.timezone }
    case 'once':
      return { when: 'once', at: readable(schedule.at) }
    case 'every':
      return { when: 'every', interval: schedule.interval, anchor: schedule.anchor ?? '' }
    case 'delay':
      return { when: 'delay', interval: schedule.interval }
    case 'cron':
      return { when: 'cron', expression: schedule.expression, ...wallClock(schedule) }
    case 'daily':
      return { when: 'daily', time: `${two(schedule.hour)}:${two(schedule.minute)}`, ...wallClock(schedule) }
    case 'manual':
      return { when: 'manual' }
    case 'dates':
    case 'several':
      return { when: schedule.type, kept: JSON.stringify(schedule, null, 2) }
  }
}

const two = (value: number) => String(value).padStart(2, '0')

const wallClock = ({
  timezone = 'UTC',
  gap = 'next',
  fold = 'first',
}: {
  timezone?: string
  gap?: GapPolicy
  fold?: FoldPolicy
}) => ({
  timezone,
  gap,
  fold,
})

export function scheduleOf(draft: Draft): GivenSchedule {
  const { timezone, gap, fold } = draft
  const daylightSaving = { ...(gap === 'next' ? {} : { gap }), ...(fold === 'first' ? {} : { fold }) }
  switch (draft.when) {
    case 'once':
      return { type: 'once', at: draft.at }
    case 'every': {
      const anchor = draft.anchor === '' ? {} : { anchor: draft.anchor }
      return { type: 'every', interval: draft.interval.trim(), ...anchor }
    }
    case 'delay':
      return { type: 'delay', interval: draft.interval.trim() }
    case 'cron':
      return { type: 'cron', expression: draft.expression.trim(), timezone, ...daylightSaving }
    case 'daily': {
      const [hour = '', minute = ''] = draft.time.split(':')
      return { type: 'daily', hour: Number(hour), minute: Number(minute), timezone, ...daylightSaving }
    }
    case 'words':
      return { type: 'words', words: draft.words.trim(), timezone }
    case 'manual':
      return { type: 'manual' }
    case 'dates':
    case 'several':
      return JSON.parse(draft.kept) as Schedule
  }
}
