import type { Blackout } from '../../api/resources/blackouts/schemas.ts'
import { printable } from '../../core/values/printable.ts'
import { formatInstant } from '../../core/words/time.ts'
import { confirm } from '../client/confirm.ts'
import { findByName } from '../client/find-by-name.ts'
import { usage } from '../client/flag-values.ts'
import { type ClientFlags, give, remark, serverFrom } from '../client/output.ts'
import { cut, table } from '../client/printed.ts'
import { naming } from '../client/refusal.ts'
import { machineZone } from '../client/schedule-flags.ts'
import { onStdout as c } from '../terminal.ts'

const NAME_WIDTH = 40

/** Flags of a window: between two instants, from each match of a cron expression, or weekly between wall-clock times. */
export interface AddBlackoutFlags extends ClientFlags {
  readonly from?: string
  readonly to?: string
  readonly days?: string
  readonly cron?: string
  readonly duration?: string
  readonly timezone?: string
  readonly effect?: string
}

export async function listBlackouts(flags: ClientFlags): Promise<void> {
  const server = serverFrom(flags)
  const { items } = await server.get<{ items: readonly Blackout[] }>('/v1/blackouts')
  if (items.length === 0 && !flags.json && flags.field === undefined)
    return remark(
      "There are no blackouts.\ntry:   belfry blackout add deploys --days fri --from 16:00 --to '09:00'\n",
    )
  give(items, flags, () => blackoutTable(items, server.now()))
}

export async function addBlackout(name: string, flags: AddBlackoutFlags): Promise<void> {
  const server = serverFrom(flags)
  const window = windowOf(flags)
  const { effect } = flags
  const blackout = await naming(
    (pointer) => flagOf(pointer, flags),
    'belfry blackout add --help',
    () => server.post<Blackout>('/v1/blackouts', { name, window, effect }),
  )
  give(blackout, flags, () => {
    const when = blackout.isInForce ? 'in force now' : `next ${spanWords(blackout.next, server.now())}`
    return `${c.green('✓')} blackout ${printable(blackout.name)}  ${windowWords(blackout)}; ${when}\n  id  ${blackout.id}\n`
  })
}

export async function removeBlackout(
  ref: string,
  flags: ClientFlags & { readonly yes?: boolean },
): Promise<void> {
  const server = serverFrom(flags)
  const { items } = await server.get<{ items: readonly Blackout[] }>('/v1/blackouts')
  const blackout = findByName('blackout', ref, items, windowWords)
  const effect = blackout.isInForce
    ? 'It is in force; deferred runs start immediately.'
    : 'It is not in force now.'
  await confirm(`Remove the blackout ${printable(blackout.name)}? ${effect}`, flags)
  await server.ask('DELETE', `/v1/blackouts/${blackout.id}`)
  give(blackout, flags, () => `${c.green('✓')} blackout ${printable(blackout.name)} removed\n`)
}

function windowOf({ from, to, days, cron, duration, timezone }: AddBlackoutFlags): object {
  const zone = timezone ?? machineZone()
  if (cron !== undefined && days !== undefined)
    throw usage('A blackout has one window; use either --cron or --days.')
  if (cron !== undefined) {
    if (duration === undefined) throw usage('--cron needs --duration, the length of the window.')
    return { type: 'cron', expression: cron, timezone: zone, duration }
  }
  if (from === undefined || to === undefined)
    throw usage(
      'The blackout has no window.',
      'Add --from and --to (with --days to repeat weekly), or --cron and --duration.',
    )
  if (days === undefined) return { type: 'range', from, to }
  const named = days.split(/[\s,]+/).filter((day) => day !== '')
  return { type: 'weekly', days: named.map((day) => day.toLowerCase()), from, to, timezone: zone }
}

function flagOf(pointer: string, { cron }: AddBlackoutFlags): string {
  const [, field = '', member = ''] = pointer.split('/')
  if (field === 'name') return 'the name'
  if (field !== 'window') return `--${field}`
  return member === 'expression'
    ? '--cron'
    : member === '' || member === 'type'
      ? cron
        ? '--cron'
        : '--from'
      : `--${member}`
}

function blackoutTable(items: readonly Blackout[], now: number): string {
  return table(
    ['NAME', 'WINDOW', 'EFFECT', 'NOW', 'NEXT', 'ID'],
    items.map((one) => [
      cut(printable(one.name), NAME_WIDTH),
      windowWords(one),
      one.effect,
      one.isInForce ? c.yellow('in force') : '–',
      spanWords(one.next, now),
      one.id,
    ]),
  )
}

type Window =
  | { readonly type: 'range'; readonly from: string; readonly to: string }
  | {
      readonly type: 'cron'
      readonly expression: string
      readonly timezone: string
      readonly duration: string
    }
  | {
      readonly type: 'weekly'
      readonly days: readonly string[]
      readonly from: string
      readonly to: string
      readonly timezone: string
    }

function windowWords({ window }: Blackout): string {
  const rule = window as Window
  switch (rule.type) {
    case 'range':
      return `${rule.from} to ${rule.to}`
    case 'cron':
      return `${rule.duration} from ${printable(rule.expression)} (${rule.timezone})`
    case 'weekly':
      return `${rule.days.join(', ')} ${rule.from} to ${rule.to} (${rule.timezone})`
  }
}

function spanWords(span: Blackout['next'], now: number): string {
  if (span === null) return '–'
  const [from, to] = [span.from, span.to].map((at) => formatInstant(Date.parse(at), machineZone(), { now }))
  return `${from} to ${to}`
}
