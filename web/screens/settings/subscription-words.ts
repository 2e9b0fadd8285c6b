/** Describes the events that a subscription receives. */
import type { EventSubject } from '../../../src/core/run/history-event.ts'
import type { Subscription } from '../../api/wire.ts'
import { LOOKS } from '../../components/state.ts'

type Filter = Subscription['filter']

/** Labels of the filters for runs. */
const OF_RUNS = {
  taskIds: 'tasks',
  tags: 'tags',
  types: 'actions',
  queues: 'queues',
  owners: 'owners',
} as const

export function filterWords(filter: Filter): string {
  const subjects = filter.events ?? ['runs']
  return subjects.map((subject) => subjectWords(subject, filter)).join('; ')
}

function subjectWords(subject: EventSubject, filter: Filter): string {
  if (subject === 'circuits') return 'circuits that open or close'
  if (subject === 'audit-log') return `changes in the audit log: ${filter.actions?.join(', ') ?? 'all'}`
  const ends = (filter.states ?? []).map((state) => LOOKS[state].word).join(' or ')
  const narrowed = Object.entries(OF_RUNS).flatMap(([list, word]) => {
    const values = filter[list as keyof typeof OF_RUNS]
    return values === undefined ? [] : [`${word}: ${values.join(', ')}`]
  })
  return [ends === '' ? 'all runs that end' : `runs that end ${ends}`, ...narrowed].join(' · ')
}
