/** The largest bodies that the server takes in, and what they cost it: little time on end, and memory by what is accepted. */
import { expect, test } from 'vitest'
import { MAX_HELD_MS } from './bounds.ts'
import { startWatchedNode } from './watched-node.ts'

/** Three times the largest body: for its bytes as they arrive, as one piece, and for what is made of them. */
const MAX_GROWTH_BYTES = 3 * 32 * 1024 * 1024

const { send, watch } = await startWatchedNode()
await send('POST', '/v1/tasks', {})
const { token } = JSON.parse((await send('POST', '/v1/worker/register', { handlers: ['greet'] })).text)

const members = (count: number) => Array.from({ length: count }, (_, i) => `"a${i}":""`).join(',')
const sleep = '"action":{"type":"sleep","duration":"1s"}'

test.each<[string, string, () => string, string]>([
  ['30 MB of empty lists', '/v1/tasks/bulk', () => `{"tasks":[${'[],'.repeat(10_000_000)}[]]}`, '/tasks'],
  ['30 MB of numbers', '/v1/tasks/bulk', () => `{"tasks":[${'1,'.repeat(15_000_000)}1]}`, '/tasks'],
  ['30 MB beside the list', '/v1/tasks/bulk', () => `{"x":[${'1,'.repeat(15_000_000)}1]}`, ''],
  ['30 MB of text', '/v1/tasks/bulk', () => `{"tasks":["${'x'.repeat(30_000_000)}"]}`, '/tasks/0'],
  ['10 000 tasks that are none', '/v1/tasks/bulk', () => `{"tasks":[${'[],'.repeat(9_999)}[]]}`, '/tasks/0'],
  ['a megabyte of tags', '/v1/tasks', () => `{${sleep},"tags":[${'1,'.repeat(140_000)}1]}`, '/tags'],
  [
    'a megabyte of triggers',
    '/v1/tasks',
    () => `{${sleep},"schedule":[${'{},'.repeat(140_000)}1]}`,
    '/schedule',
  ],
  ['a megabyte of unknown fields', '/v1/tasks', () => `{${sleep},${members(70_000)}}`, '/a0'],
  [
    'a megabyte of headers',
    '/v1/tasks',
    () => `{"action":{"type":"http","url":"http://a.example","headers":{${members(70_000)}}}}`,
    '/action/headers',
  ],
  [
    'a megabyte of words',
    '/v1/schedules/preview',
    () => `{"schedule":"${'every '.repeat(170_000)}"}`,
    '/schedule',
  ],
  ['a megabyte of small values', '/v1/schedules/preview', () => `[${'1,'.repeat(500_000)}1]`, ''],
  ['15 MB of reports', '/v1/worker/complete', () => `{"runs":[${'[],'.repeat(5_000_000)}[]]}`, '/runs'],
  [
    'a report of 400 000 values',
    '/v1/worker/complete',
    () => `{"runs":[{"log":[${'{},'.repeat(400_000)}1]}]}`,
    '/runs/0/runId',
  ],
])('%s are refused without blocking the event loop', async (_, path, make, pointer) => {
  const body = make()

  const { result, heldMs, grewBytes } = await watch(() =>
    send('POST', path, body, path.startsWith('/v1/worker/') ? token : undefined),
  )

  expect(result.status).toBe(422)
  expect(JSON.parse(result.text).errors[0].pointer).toBe(pointer)
  expect(heldMs).toBeLessThan(MAX_HELD_MS)
  expect(grewBytes).toBeLessThan(MAX_GROWTH_BYTES)
})
