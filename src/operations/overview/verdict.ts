/** Summarises in one sentence whether everything is on time. Pure. */

import { REFUSED_WORDS, type RefusedOperation } from '../../core/ledger/refusal-report.ts'
import type { Counted } from '../../core/values/counted.ts'
import { roughly } from '../../core/words/time.ts'

/** The counts that the sentence is made of. */
export interface Ingredients {
  /** Why the database does not accept writes; null if it does. */
  readonly database: string | null
  readonly unwatchedShards: number
  readonly late: Counted & { readonly oldestMs: number | null }
  readonly failing: Counted
  readonly lostNodes: number
  readonly quietNodes: number
  /** Within the last day. */
  readonly ran: number
  readonly skipped: number
  readonly missed: number
  readonly audit: AuditIngredients
  /** Operations whose writes PostgreSQL currently rejects. */
  readonly refused: Counted & { readonly items: readonly { readonly operation: RefusedOperation }[] }
  /** Targets with an open circuit, because they do not respond. */
  readonly circuits: Counted & { readonly items: readonly { readonly target: string }[] }
  /** The latest time within a day that the database's clock was set, and how often it was. */
  readonly clockStep: ClockStep | null
}

/** A change of the database's clock. */
export interface ClockStep {
  readonly byMs: number
  readonly agoMs: number
  readonly count: number
}

/** What the audit reports. */
export interface AuditIngredients {
  /** Inconsistencies found within the last day: repaired, and not repaired. */
  readonly repaired: number
  readonly unrepaired: number
  /** Minutes whose history has lost rows, found within the last day. */
  readonly minutesLost: number
  /** Whether one-offs and the history of the last day were also checked completely. */
  readonly isWhole: boolean
  /** Time since a round last ended; null before the first one has. */
  readonly silentMs: number | null
}

/** The answer to the question whether everything is on time. */
export interface Verdict {
  /** Nothing needs attention. */
  readonly isFine: boolean
  readonly sentence: string
}

export function verdictOf(ingredients: Ingredients): Verdict {
  const troubles = troublesOf(ingredients)
  const { missed } = ingredients
  const isFine = troubles.length === 0 && missed === 0
  const audited = isFine ? checked(ingredients.audit) : []
  return {
    isFine,
    sentence: [...(isFine ? ['On time.'] : troubles), dayOf(ingredients), ...audited].join(' '),
  }
}

/** States exactly what the audit has checked, and no more. */
function checked({ silentMs, isWhole }: AuditIngredients): string[] {
  if (silentMs === null) return []
  if (!isWhole) return ['Every recurring task has its next run.']
  return [
    'Every task has its next run or has ended, and every run counted in the last 24 hours is in history.',
  ]
}

/** Runs include manual ones; only occurrences can be skipped. `missed` includes those whose row was lost. */
function dayOf({ ran, skipped, missed }: Ingredients): string {
  const ended = `In the last 24 hours ${of(ran, 'run')} ended`
  if (skipped === 0) return `${ended} and no occurrence was skipped.`
  const those = `${of(skipped, 'occurrence')} ${skipped === 1 ? 'was' : 'were'} skipped`
  if (skipped === 1)
    return missed === 0 ? `${ended} and ${those}.` : `${ended} and 1 occurrence was missed or lost.`
  return `${ended} and ${those}, ${missed === 0 ? 'none' : numeral(missed)} of them missed or lost.`
}

function troublesOf(it: Ingredients): string[] {
  const troubles: string[] = []
  if (it.database !== null) troubles.push(`Belfry cannot create, start or record anything. ${it.database}`)
  const [refused] = it.refused.items
  if (refused)
    troubles.push(
      `PostgreSQL rejects ${it.refused.atLeast ? 'at least ' : ''}${of(it.refused.count, 'write')}: ${REFUSED_WORDS[refused.operation]}.`,
    )
  if (it.unwatchedShards > 0)
    troubles.push(
      `No scheduler watches ${of(it.unwatchedShards, 'shard')}; runs that come due there are late until a scheduler takes ${it.unwatchedShards === 1 ? 'it' : 'them'} over.`,
    )
  if (it.late.count > 0) {
    const { count, oldestMs } = it.late
    const by = oldestMs === null ? '' : `, the oldest by ${roughly(oldestMs)}`
    troubles.push(`${more(it.late)}${of(count, 'run')} ${count === 1 ? 'is' : 'are'} late${by}.`)
  }
  const [circuit] = it.circuits.items
  if (circuit) troubles.push(circuitsSentence(circuit.target, it.circuits))
  if (it.failing.count > 0)
    troubles.push(
      `${more(it.failing)}${of(it.failing.count, 'task')} ${it.failing.count === 1 ? 'is' : 'are'} failing.`,
    )
  const { repaired, unrepaired, minutesLost, silentMs } = it.audit
  if (unrepaired > 0)
    troubles.push(
      `${of(unrepaired, 'task')} ${unrepaired === 1 ? 'has' : 'have'} no next occurrence scheduled, and the audit could not repair this.`,
    )
  if (minutesLost > 0)
    troubles.push(`Rows are missing from ${of(minutesLost, 'minute')} of history; see GET /v1/findings.`)
  if (repaired > 0)
    troubles.push(`The audit found and restored ${of(repaired, 'missing row')} in the last 24 hours.`)
  if (silentMs !== null && silentMs > AUDIT_SILENT_MS)
    troubles.push(`The audit has not completed a pass for ${roughly(silentMs)}.`)
  if (it.clockStep) troubles.push(stepOf(it.clockStep))
  if (it.lostNodes > 0) troubles.push(`${of(it.lostNodes, 'node')} died in the last hour.`)
  if (it.quietNodes > 0)
    troubles.push(
      `${of(it.quietNodes, 'node')} ${it.quietNodes === 1 ? 'has' : 'have'} sent no recent heartbeat.`,
    )
  return troubles
}

const circuitsSentence = (target: string, open: Counted): string =>
  open.count === 1
    ? `Calls to ${target} wait, because it does not respond.`
    : `Calls to ${more(open).toLowerCase()}${of(open.count, 'target')} wait, because they do not respond.`

function stepOf({ byMs, agoMs, count }: ClockStep): string {
  const times = count === 1 ? '' : ` (${of(count, 'time')} in the last 24 hours)`
  const direction = byMs < 0 ? 'back' : 'forward'
  return `The database clock was set ${direction} by ${roughly(Math.abs(byMs))}, ${roughly(Math.max(1_000, agoMs))} ago${times}.`
}

/** A round takes less than a minute; if none has ended for this long, no node is auditing. */
const AUDIT_SILENT_MS = 300_000

const more = ({ atLeast }: Counted) => (atLeast ? 'At least ' : '')
const of = (count: number, noun: string) => `${numeral(count)} ${noun}${count === 1 ? '' : 's'}`

/** Formats a number with no-break spaces between thousands. */
const numeral = (value: number): string => String(value).replace(/\B(?=(\d{3})+$)/g, '\u00a0')
