/** What the peers' jobs do: nothing, or one POST as their users would write it. */
import { Pool } from 'undici'

const REPORT_MS = 50

/**
 * @param {{ sinkUrl: string | null, concurrency: number }} options
 * @returns {() => Promise<void>} performs one job
 */
export function createWork({ sinkUrl, concurrency }) {
  const pool = sinkUrl === null ? null : new Pool(sinkUrl, { connections: concurrency })
  let done = 0
  let reported = 0
  setInterval(() => {
    if (done !== reported) process.send({ done })
    reported = done
  }, REPORT_MS)
  if (pool === null)
    return async () => {
      done++
    }
  return async () => {
    const { statusCode, body } = await pool.request({
      path: '/',
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"hello":"world"}',
    })
    await body.dump()
    if (statusCode !== 200) throw new Error(`the sink answered ${statusCode}`)
    done++
  }
}
