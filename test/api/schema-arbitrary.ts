/**
 * Values for a JSON schema. What a schema cannot say, such as how a duration is written, is drawn from what
 * people write there: rightly, or in any way.
 */
import fc from 'fast-check'
import type { Document, Schema } from './document.ts'

export type Manner = 'right' | 'any'

const DAY_MS = 86_400_000
const daysFromNow = (min: number, max: number) =>
  fc.integer({ min: min * DAY_MS, max: max * DAY_MS }).map((ms) => new Date(Date.now() + ms).toISOString())

const RIGHT = {
  duration: fc.constantFrom('10ms', '1s', '1m30s', '1.5h', '0.5d'),
  short: fc.constantFrom('0s', '10ms', '1s'),
  instant: daysFromNow(0, 400),
  start: daysFromNow(0, 1),
  end: daysFromNow(800, 900),
  zone: fc.constantFrom('UTC', 'Europe/Berlin', 'America/St_Johns', 'Pacific/Apia', 'europe/berlin'),
  cron: fc.constantFrom(
    '* * * * *',
    '*/5 9-17 * * MON-FRI',
    '0 0 0 * * *',
    '@daily',
    '0 0 L * *',
    '0 12 * * 5#3',
    '0 0 15W * *',
    'H H(0-5) * * *',
  ),
  dates: fc.array(
    fc.oneof(
      daysFromNow(1, 400),
      daysFromNow(1, 400).map((at) => at.slice(0, 16)),
    ),
    { minLength: 1, maxLength: 4 },
  ),
  url: fc.constantFrom('http://localhost:1/x', 'https://example.com', 'http://[::1]/?a=b'),
  key: fc.constantFrom('a', 'b', 'c'),
  hour: fc.integer({ min: 0, max: 23 }),
  words: fc.constantFrom(
    'every weekday at 9:00',
    'every 2 hours',
    'last day of the month 18:00 (Europe/Vienna)',
  ),
  headers: fc.constantFrom({}, { accept: 'text/plain' }, { Authorization: 'Bearer x', 'x-y': 'é' }),
}

const wrongInstant = fc.constantFrom(
  ...['2026-02-30T00:00:00Z', '1969-12-31T23:59:59+14:00', '0000-01-01T00:00:00Z'],
  ...['9999-12-31T23:59:59-23:59', '1900-01-01T00:00:00+23:59', 'now', ''],
)
const WRONG: Partial<Record<keyof typeof RIGHT, fc.Arbitrary<unknown>>> = {
  duration: fc.constantFrom('25h', '5', '-1s', '', '1w', 'PT5S'),
  short: fc.constantFrom('1d', '-1s', 'soon'),
  instant: wrongInstant,
  start: wrongInstant,
  end: wrongInstant,
  zone: fc.constantFrom('+01:00', 'Mars/Base', ''),
  cron: fc.constantFrom('61 * * * *', '* * *', '0 0 30 2 *', '* * * * * * *', '', '@reboot', '* * * * 8'),
  words: fc.constantFrom('soon', '', 'every day at 25:00', 'every weekday'),
  dates: fc.constantFrom([], ['2027-02-30T00:00'], ['2027-01-01'], [7], 'tomorrow'),
  url: fc.constantFrom('ftp://x', 'http://u:p@x', '//x', ''),
}

/** What a member of this name holds, where its schema only says that it is text. */
const BY_NAME: Readonly<Record<string, keyof typeof RIGHT>> = {
  ...{ interval: 'duration', duration: 'duration', timeout: 'duration', window: 'duration', max: 'duration' },
  ...{ command: 'duration', recurring: 'duration', initial: 'short', at: 'instant', anchor: 'instant' },
  ...{
    startAt: 'start',
    start_at: 'start',
    from: 'start',
    to: 'end',
    endAt: 'end',
    timezone: 'zone',
    expression: 'cron',
    dates: 'dates',
  },
  ...{ url: 'url', key: 'key', hour: 'hour', minute: 'hour', headers: 'headers' },
} as const

export function arbitraryOf(
  document: Document,
  schema: Schema,
  manner: Manner,
  name = '',
): fc.Arbitrary<unknown> {
  const inner = (member: unknown, as = '') => arbitraryOf(document, member as Schema, manner, as)
  if (typeof schema['$ref'] === 'string')
    return inner(document.components.schemas[schema['$ref'].split('/').at(-1) ?? ''], name)
  const variants = (schema['anyOf'] ?? schema['oneOf']) as Schema[] | undefined
  if (variants) return fc.oneof(...variants.map((variant) => inner(variant, name)))
  if (schema['const'] !== undefined) return fc.constant(schema['const'])
  if (Array.isArray(schema['enum'])) return fc.constantFrom(...schema['enum'])
  const word = name === 'schedule' && schema['type'] === 'string' ? 'words' : BY_NAME[name]
  if (word && schema['type'] !== 'null') {
    const wrong = WRONG[word]
    return manner === 'any' && wrong ? fc.oneof(RIGHT[word], wrong) : RIGHT[word]
  }
  return fc.oneof(...[schema['type']].flat().map((type) => ofType(type, schema, inner)))
}

function ofType(
  type: unknown,
  schema: Schema,
  inner: (member: unknown, as?: string) => fc.Arbitrary<unknown>,
): fc.Arbitrary<unknown> {
  switch (type) {
    case 'string':
      return text(schema)
    case 'integer':
    case 'number':
      return fc.integer({
        min: Math.ceil(Number(schema['minimum'] ?? -5)),
        max: Number(schema['maximum'] ?? 100),
      })
    case 'boolean':
      return fc.boolean()
    case 'null':
      return fc.constant(null)
    case 'array':
      return fc.array(inner(schema['items'] ?? {}), {
        minLength: Number(schema['minItems'] ?? 0),
        maxLength: 4,
      })
    case 'object':
      return object(schema, inner)
    default:
      return fc.jsonValue({ maxDepth: 2 })
  }
}

function text(schema: Schema): fc.Arbitrary<string> {
  if (schema['format'] === 'uuid') return fc.uuid()
  if (typeof schema['pattern'] === 'string' && schema['pattern'].length < 80) {
    try {
      return fc.stringMatching(new RegExp(schema['pattern']), { maxLength: 50 })
    } catch {
      // A pattern that only an engine can read is tried with any text.
    }
  }
  return fc.string({ unit: 'grapheme', minLength: Number(schema['minLength'] ?? 0), maxLength: 20 })
}

function object(schema: Schema, inner: (member: unknown, as?: string) => fc.Arbitrary<unknown>) {
  const members = Object.entries((schema['properties'] ?? {}) as Record<string, unknown>)
  const requiredKeys = (schema['required'] ?? []) as string[]
  if (members.length > 0) {
    const record = Object.fromEntries(members.map(([key, member]) => [key, inner(member, key)]))
    return fc.record(record, { requiredKeys })
  }
  if (typeof schema['additionalProperties'] !== 'object') return fc.constant({})
  return fc.dictionary(fc.stringMatching(/^[a-z-]{1,8}$/), inner(schema['additionalProperties']), {
    maxKeys: 3,
  })
}

const GARBAGE = fc.oneof(
  fc.constantFrom(
    null,
    true,
    -1,
    0,
    1.5,
    1e300,
    '',
    ' ',
    'x'.repeat(5_000),
    'a\u0000b',
    '\ud800',
    [],
    {},
    [[]],
    { a: 1 },
  ),
  fc.jsonValue({ maxDepth: 3 }),
)

/** The same value with one place of it spoilt: replaced, left out, or with a member nobody knows. */
export function spoilt(value: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  return fc
    .tuple(value, GARBAGE, fc.nat(), fc.constantFrom('replace', 'remove', 'add'))
    .map(([whole, garbage, at, how]) => {
      const copy = structuredClone(whole)
      const places = placesIn(copy)
      const place = places[at % Math.max(places.length, 1)]
      if (place === undefined) return garbage
      if (how === 'remove') delete place.parent[place.key]
      else place.parent[how === 'add' ? 'unknown' : place.key] = garbage
      return copy
    })
}

interface Place {
  readonly parent: Record<string, unknown>
  readonly key: string
}

function placesIn(value: unknown): Place[] {
  if (typeof value !== 'object' || value === null) return []
  const parent = value as Record<string, unknown>
  return Object.keys(parent).flatMap((key) => [{ parent, key }, ...placesIn(parent[key])])
}
