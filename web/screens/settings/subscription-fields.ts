/** Converts the form fields of a new subscription to the API's input. */
import { AUDIT_ACTIONS, type AuditAction } from '../../../src/core/audit-log/audit-action.ts'
import { ENDED_STATES } from '../../../src/core/run/run-event.ts'
import type { SubscriptionInput } from '../../api/wire.ts'
import { LOOKS } from '../../components/state.ts'
import { given, listOf } from '../../components/typed.ts'

type State = (typeof ENDED_STATES)[number]

/** Subjects of events. Audit log events need a separate subscription, and only admins can follow them. */
export const ABOUT_WORDS = {
  runs: 'Runs that end',
  circuits: 'Circuits of targets that open or close',
  both: 'Runs and circuits',
  changes: 'Changes in the audit log',
} as const

export interface SubscriptionFields {
  readonly name: string
  readonly url: string
  readonly about: keyof typeof ABOUT_WORDS
  readonly states: readonly State[]
  readonly tags: string
  readonly actions: readonly AuditAction[]
}

export const START = (): SubscriptionFields => ({
  name: '',
  url: '',
  about: 'runs',
  states: [],
  tags: '',
  actions: [],
})

export const CHOICES = {
  states: ENDED_STATES.map((value) => ({ value, label: LOOKS[value].word })),
  actions: AUDIT_ACTIONS.map((value) => ({ value, label: value })),
} as const

/** Filters chosen for another subject are left out. */
export function inputOf({ name, url, ...fields }: SubscriptionFields): SubscriptionInput {
  return { ...given('name', name), url: url.trim(), filter: filterOf(fields) }
}

function filterOf({ about, states, tags, actions }: Omit<SubscriptionFields, 'name' | 'url'>) {
  if (about === 'changes')
    return { events: ['audit-log' as const], ...(actions.length === 0 ? {} : { actions: [...actions] }) }
  if (about === 'circuits') return { events: ['circuits' as const] }
  const wanted = listOf(tags)
  return {
    ...(about === 'both' ? { events: ['runs' as const, 'circuits' as const] } : {}),
    ...(states.length === 0 ? {} : { states: [...states] }),
    ...(wanted.length === 0 ? {} : { tags: wanted }),
  }
}

/** Describes when an event is sent. */
export function eventWords({ about, states, tags, actions }: SubscriptionFields): string {
  if (about === 'changes')
    return `for each change in the audit log of this project${actions.length === 0 ? '' : ` of the kind ${actions.join(' or ')}`}`
  const circuits = 'when the circuit of a target opens or closes'
  if (about === 'circuits') return circuits
  const ends = states.map((state) => LOOKS[state].word).join(' or ')
  const wanted = listOf(tags).join(' or ')
  const runs = `for each run that ends${ends === '' ? '' : ` ${ends}`}${wanted === '' ? '' : `, of tasks tagged ${wanted}`}`
  return about === 'both' ? `${runs}, and ${circuits}` : runs
}
