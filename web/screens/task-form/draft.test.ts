import { expect, test } from 'vitest'
import { TASK_DEFAULTS } from '../../../src/core/task/field-list.ts'
import type { Task } from '../../api/wire.ts'
import { draftOf, emptyDraft } from './draft.ts'
import { actionOf } from './draft-action.ts'
import { changesOf, fullInput, inputOf } from './draft-input.ts'
import { draftOfJson } from './draft-json.ts'
import { retryWords } from './retry-words.ts'

const aTask = (part: Partial<Task>): Task => ({
  id: '01900000-0000-7000-8000-000000000000',
  key: null,
  name: null,
  owner: null,
  state: 'scheduled',
  version: 1,
  type: 'sleep',
  payload: {},
  action: { type: 'sleep', duration: '1s' },
  schedule: { type: 'manual' },
  ...TASK_DEFAULTS,
  misfire: { ...TASK_DEFAULTS.misfire },
  retry: { ...TASK_DEFAULTS.retry },
  labels: [],
  tags: [],
  nextFireAt: null,
  nextFireLocal: null,
  timezone: null,
  seed: null,
  openRun: null,
  createdAt: '2026-11-16T09:00:00.000Z',
  updatedAt: '2026-11-16T09:00:00.000Z',
  pausedAt: null,
  pauseReason: null,
  resumeAt: null,
  skipNext: null,
  cancelledAt: null,
  ...part,
})

test('a new task contains only the fields that were filled in', () => {
  const draft = {
    ...emptyDraft(),
    name: ' report ',
    action: 'sleep' as const,
    when: 'every' as const,
    interval: '10s',
  }

  expect(inputOf(draft)).toEqual({
    name: 'report',
    action: { type: 'sleep', duration: '1s' },
    schedule: { type: 'every', interval: '10s' },
  })
})

test.each<Partial<Task>>([
  { action: { type: 'ping', url: 'https://example.com/' } },
  {
    action: {
      type: 'http',
      url: 'https://example.com/',
      method: 'GET',
      followRedirects: 3,
      connectTimeout: '1s',
      firstByteTimeout: '5s',
    },
  },
  { action: { type: 'slack', url: 'https://example.com/', text: 'hello' } },
  {
    action: { type: 'slack', url: 'https://example.com/T0/{{secret.SLACK_0123456789ABCDEF}}', text: 'hello' },
  },
  { action: { type: 'slack', url: 'https://example.com/', blocks: [{ type: 'divider' }] } },
  { action: { type: 'email', to: 'ada@example.com', subject: 'hello', text: 'you' } },
  {
    action: {
      type: 'email',
      to: ['Ada <ada@example.com>', 'bob@example.com'],
      subject: 'hello',
      text: 'you',
      html: '<p>you</p>',
      cc: 'carol@example.com',
      bcc: ['"Dent, Arthur" <dent@example.com>', 'ford@example.com'],
      from: 'us@example.com',
      replyTo: 'desk@example.com',
    },
  },
  { action: { type: 'webhook', url: 'https://example.com/', body: { a: [1, null] } } },
  { action: { type: 'webhook', url: 'https://example.com/', body: 'plain text' } },
  {
    action: {
      type: 'http',
      url: 'https://example.com/',
      method: 'PUT',
      headers: { accept: 'text/plain', 'x-a': 'b: c' },
      body: 'x',
      expect: [200, '3xx'],
    },
  },
  { schedule: { type: 'once', at: '2026-11-17T02:30:00.000Z' } },
  { schedule: { type: 'every', interval: '5m', anchor: '2026-01-01T00:00:00Z' } },
  { schedule: { type: 'delay', interval: '1h' } },
  {
    schedule: { type: 'cron', expression: '0 9 L * *', timezone: 'Asia/Kolkata', gap: 'skip', fold: 'both' },
  },
  { schedule: { type: 'daily', hour: 2, minute: 5, timezone: 'UTC' } },
  { schedule: { type: 'dates', dates: ['2027-01-01T09:00'], timezone: 'UTC' } },
  { schedule: { type: 'several', triggers: [{ type: 'every', interval: '5m' }] } },
  { startAt: '2026-11-17T02:30:00.000Z', endAt: '2026-12-17T02:30:00.000Z', maxRuns: 3 },
  { name: 'n', key: 'k', owner: 'o', tags: ['a'], labels: ['gpu'], concurrencyKey: 'c', concurrencyLimit: 4 },
])('fields that are not edited in the form keep their values: %j', (part) => {
  const task = aTask(part)
  const draft = draftOf(task)

  const full = fullInput(draft) as Record<string, unknown>
  for (const field of Object.keys(part)) expect(full[field]).toEqual(task[field as keyof Task])
  expect(changesOf(draft, { ...draft })).toEqual({})
})

test('the fields of a message become members of the action, and empty fields are left out', () => {
  const email = { ...emptyDraft(), action: 'email' as const, to: 'a@example.com', subject: 's', message: 'm' }

  expect(
    actionOf({ ...email, cc: 'b@example.com, "C; D" <c@example.com>', bcc: ' ', html: '<p>m</p>' }),
  ).toEqual({
    type: 'email',
    to: 'a@example.com',
    cc: ['b@example.com', '"C; D" <c@example.com>'],
    subject: 's',
    text: 'm',
    html: '<p>m</p>',
  })
  expect(
    actionOf({ ...emptyDraft(), action: 'slack', url: 'https://example.com/', blocks: 'no JSON' }),
  ).toMatchObject({ blocks: 'no JSON' })
  expect(
    actionOf({ ...emptyDraft(), action: 'http', url: 'https://example.com/', followRedirects: 'all' }),
  ).toMatchObject({ followRedirects: 'all' })
})

test('a schedule in words is sent to the API as text', () => {
  const draft = {
    ...emptyDraft(),
    when: 'words' as const,
    words: ' weekdays at 9 ',
    timezone: 'Europe/Vienna',
  }

  expect(inputOf(draft).schedule).toEqual({
    type: 'words',
    words: 'weekdays at 9',
    timezone: 'Europe/Vienna',
  })
})

test('an edit contains only the fields that changed', () => {
  const draft = draftOf(aTask({ schedule: { type: 'daily', hour: 2, minute: 30, timezone: 'UTC' } }))

  expect(changesOf(draft, { ...draft, time: '03:00', retryLimit: '5', name: 'named' })).toEqual({
    name: 'named',
    schedule: { type: 'daily', hour: 3, minute: 0, timezone: 'UTC' },
    retry: { limit: 5, initial: '1s', max: '30s' },
  })
})

test('a number that cannot be parsed is sent as typed, so that the API reports the error', () => {
  expect(fullInput({ ...emptyDraft(), retryLimit: 'three', priority: '' })).toMatchObject({
    retry: { limit: 'three' },
    priority: '',
  })
})

test.each([
  ['0', '1s', '30s', 'On failure: no retries; the run fails permanently.'],
  ['3', '1s', '30s', 'On failure: retries after up to 1 s, 2 s, 4 s, then fails permanently.'],
  [
    '7',
    '10s',
    '30s',
    'On failure: retries after up to 10 s, 20 s, 30 s, 30 s, 30 s, … 7 retries in total, then fails permanently.',
  ],
  ['x', '1s', '30s', 'On failure: see the retry fields of the form.'],
])('%s retries from %s to %s are put into words', (retryLimit, retryInitial, retryMax, words) => {
  expect(retryWords({ retryLimit, retryInitial, retryMax })).toBe(words)
})

test('JSON fills the fields, and what fits no field is sent unchanged', () => {
  const read = (json: object) => {
    const result = draftOfJson(JSON.stringify(json), emptyDraft())
    if (!result.ok) throw new Error(result.reason)
    return result.draft
  }

  const draft = read({
    action: { url: 'https://example.com', type: 'webhook', body: { b: 1, a: [2] } },
    schedule: { timezone: 'UTC', type: 'cron', expression: '0 9 * * *' },
    startAt: '2027-01-01T00:00:00Z',
    retry: { limit: 7 },
    misfire: { policy: 'run_all', cap: 3 },
    queueTimeout: '5m',
    jitter: '30s',
    metadata: { team: 'ops' },
  })
  const odd = read({ action: { type: 'teleport' }, retry: 'often', name: 12, nonsense: true, endAt: 'soon' })
  const never = read({ schedule: { type: 'once', at: 'soon' } })

  expect(draft).toMatchObject({ url: 'https://example.com', retryLimit: '7', misfireCap: '3', raw: {} })
  expect(inputOf(draft)).toMatchObject({
    action: { type: 'webhook', url: 'https://example.com', body: { b: 1, a: [2] } },
    startAt: '2027-01-01T00:00:00Z',
    queueTimeout: '5m',
    jitter: '30s',
    metadata: { team: 'ops' },
  })
  expect(inputOf(odd)).toMatchObject({
    action: { type: 'teleport' },
    retry: 'often',
    name: 12,
    nonsense: true,
  })
  expect(odd).toMatchObject({ endAt: '', raw: { endAt: 'soon' } })
  expect(never).toMatchObject({ at: '', raw: { schedule: { type: 'once', at: 'soon' } } })
  expect(draftOfJson('{', emptyDraft())).toMatchObject({ ok: false })
  expect(draftOfJson('[]', emptyDraft())).toMatchObject({ ok: false })
})

test('the form keeps every option of a task unchanged', () => {
  const task = aTask({
    jitter: '30s',
    queueTimeout: '5m',
    misfire: { policy: 'run_all', window: '2h', cap: 7, rate: 0.5 },
    metadata: { team: 'ops' },
    tracingId: 'trace me',
  })

  expect(fullInput(draftOf(task))).toMatchObject({
    jitter: '30s',
    queueTimeout: '5m',
    misfire: { policy: 'run_all', window: '2h', cap: 7, rate: 0.5 },
    metadata: { team: 'ops' },
    tracingId: 'trace me',
  })
})
