/**
 * The request rate of a project over three nodes: held within 5 % under any load, and nobody is refused who stays below it.
 * This suite measures, so it runs alone.
 */

import { Pool } from 'undici'
import { expect, test } from 'vitest'
import { sql } from '../../src/store/database/sql.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startBelfry } from '../support/process.ts'

const PER_SECOND = 100
const WARM_UP_MS = 4_000
const MEASURED_MS = 20_000
/** Allowed difference from the rate. */
const TOLERANCE = 0.05
/** Requests in flight: a node that answers slowly must not be sent ever more. */
const MAX_IN_FLIGHT = 200

const tell = (text: string) => process.stdout.write(`  ${text}\n`)

const { url, db } = await createTestDatabase()
const nodes = await Promise.all([0, 1, 2].map(() => startBelfry(['--database-url', url, '--roles', 'api'])))
const pools = nodes.map((node) => new Pool(node.url, { connections: MAX_IN_FLIGHT }))

async function send(node: number): Promise<{ status: number; limited: boolean; ms: number }> {
  const startedAt = performance.now()
  const { statusCode, headers, body } = await (pools[node] as Pool).request({
    method: 'POST',
    path: '/v1/schedules/preview',
    headers: { 'content-type': 'application/json' },
    body: '{"schedule":{"type":"every","interval":"1h"},"count":1}',
  })
  await body.dump()
  return { status: statusCode, limited: 'ratelimit' in headers, ms: performance.now() - startedAt }
}

/** Sends so many a second, to nodes as their shares say, and tells what came of those after the warm-up. */
async function load(perSecond: number, shares: readonly number[]) {
  const results: { status: number; at: number; ms: number }[] = []
  const pending = new Set<Promise<void>>()
  const startedAt = performance.now()
  const endsAt = startedAt + WARM_UP_MS + MEASURED_MS
  let [sent, skipped] = [0, 0]
  while (performance.now() < endsAt) {
    const due = Math.floor(((performance.now() - startedAt) / 1_000) * perSecond)
    for (; sent < due; sent++) {
      if (pending.size >= MAX_IN_FLIGHT) {
        skipped++
        continue
      }
      const at = performance.now()
      const request = send(nodeFor(sent, shares)).then(
        ({ status, ms }) => void results.push({ status, at, ms }),
      )
      pending.add(request)
      void request.finally(() => pending.delete(request))
    }
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
  await Promise.all(pending)
  const measured = results.filter(({ at }) => at >= startedAt + WARM_UP_MS && at < endsAt)
  const admitted = measured.filter(({ status }) => status === 200)
  const waits = admitted.map(({ ms }) => ms).sort((a, b) => a - b)
  return {
    sent: measured.length,
    skipped,
    refused: measured.filter(({ status }) => status === 429).length,
    failed: measured.map(({ status }) => status).filter((status) => status !== 200 && status !== 429),
    perSecond: (admitted.length / MEASURED_MS) * 1_000,
    p50: waits[Math.floor(waits.length / 2)] ?? 0,
    p99: waits[Math.floor(waits.length * 0.99)] ?? 0,
  }
}

/** Nodes in turn, as often as their shares say, which add up to 100. */
function nodeFor(n: number, shares: readonly number[]): number {
  const place = (n * 61) % 100
  let until = 0
  return shares.findIndex((share) => {
    until += share
    return place < until
  })
}

const leases = async () => {
  const [row] = await db.run(sql<{ count: number }>`
    select n_tup_upd::float8 as count from pg_stat_user_tables where relname = 'request_quota'`)
  return row?.count ?? 0
}

test('a project far over its rate gets its rate, however its requests are spread over nodes', async () => {
  const { body } = await (pools[0] as Pool).request({
    method: 'PATCH',
    path: '/v1/projects/default',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ limits: { requestRate: `${PER_SECOND}/s` } }),
  })
  await body.dump()
  for (const node of [0, 1, 2]) await eventually(async () => (await send(node)).limited)

  const cases = [
    { name: 'evenly, 5 times the rate', perSecond: 5 * PER_SECOND, shares: [34, 33, 33] },
    { name: 'unevenly, 3 times the rate', perSecond: 3 * PER_SECOND, shares: [80, 15, 5] },
    { name: 'to one node, twice the rate', perSecond: 2 * PER_SECOND, shares: [100, 0, 0] },
    { name: 'evenly, 5 % over the rate', perSecond: 1.05 * PER_SECOND, shares: [34, 33, 33] },
  ]
  for (const { name, perSecond, shares } of cases) {
    const before = await leases()
    const result = await load(perSecond, shares)
    const statements = ((await leases()) - before) / ((WARM_UP_MS + MEASURED_MS) / 1_000)
    tell(
      `${name}: ${result.perSecond.toFixed(1)}/s of ${PER_SECOND}/s, ${statements.toFixed(0)} leases/s, p50 ${result.p50.toFixed(1)} ms, p99 ${result.p99.toFixed(1)} ms`,
    )
    expect(result.failed).toEqual([])
    expect(result.perSecond).toBeGreaterThan(PER_SECOND * (1 - TOLERANCE))
    expect(result.perSecond).toBeLessThan(PER_SECOND * (1 + TOLERANCE))
  }
}, 300_000)

test('no request below the rate is refused, whether spread evenly or not', async () => {
  for (const shares of [
    [34, 33, 33],
    [70, 20, 10],
  ]) {
    const before = await leases()
    const result = await load(0.9 * PER_SECOND, shares)
    const statements = ((await leases()) - before) / ((WARM_UP_MS + MEASURED_MS) / 1_000)
    tell(
      `90 % of the rate, ${shares.join('/')}: ${result.refused} of ${result.sent} refused, ${statements.toFixed(0)} leases/s, p50 ${result.p50.toFixed(1)} ms, p99 ${result.p99.toFixed(1)} ms`,
    )
    expect(result.failed).toEqual([])
    expect(result.refused).toBe(0)
  }
}, 300_000)
