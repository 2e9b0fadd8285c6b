/** Creates tasks in Belfry as its users do: over HTTP. */
import { Pool } from 'undici'
import { serve } from './channel.mjs'
import { timeBulk, timeCreates } from './latencies.mjs'

/** Far enough ahead that no task comes due during the measurement. */
const AHEAD_MS = 24 * 3_600_000

let pool

serve({
  setup: ({ url, connections }) => {
    pool = new Pool(url, { connections })
  },
  single: ({ count, connections }) => timeCreates(count, connections, () => post('/v1/tasks', task())),
  bulk: ({ count, batch }) =>
    timeBulk(count, batch, (size) => post('/v1/tasks/bulk', { tasks: Array.from({ length: size }, task) })),
})

function task() {
  const at = new Date(Date.now() + AHEAD_MS).toISOString()
  return { action: { type: 'sleep', duration: '0s' }, schedule: { type: 'once', at } }
}

/**
 * @param {string} path
 * @param {unknown} body
 */
async function post(path, body) {
  const answer = await pool.request({
    path,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const text = await answer.body.text()
  if (answer.statusCode !== 201) throw new Error(`${path} answered ${answer.statusCode}: ${text}`)
}
