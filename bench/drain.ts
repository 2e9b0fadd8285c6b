/** How fast does one node work off what is due, with full history? Prints runs/s, CPU and WAL a run. */
import { parseArgs } from 'node:util'
import { sql } from '../src/store/sql.ts'
import { openBench, startBelfry } from './support/belfry.ts'
import { measure, residentMiB } from './support/measure.ts'
import { fill } from './support/tasks.ts'

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '60000' },
    nodes: { type: 'string', default: '1' },
    rounds: { type: 'string', default: '3' },
  },
})
const runs = Number(values.runs)

for (let round = 0; round < Number(values.rounds); round++) {
  const bench = await openBench()
  try {
    const dueAt = Date.now() + 3_600_000
    await fill(bench.db, { count: runs, dueAt: () => dueAt })
    await bench.db.run(sql`checkpoint`)
    const nodes = await Promise.all(
      Array.from({ length: Number(values.nodes) }, () => startBelfry(bench.url)),
    )
    await bench.db.run(sql`update agenda set wake_at = now(), scheduled_for = now()`)
    await bench.db.run(sql`vacuum analyze agenda`)
    const end = await measure(bench.db, bench.server.pid, () => nodes.map(({ pid }) => pid))
    await bench.db.run(
      sql`select pg_notify('belfry_wake', ${JSON.stringify({ from: 'bench', due: Array.from({ length: 64 }, (_, shard) => [shard, 0]), ready: false, cancel: false })})`,
    )
    for (;;) {
      const [left] = await bench.db.run(
        sql<{ count: number }>`select count(*)::integer as count from (select from agenda limit 1) a`,
      )
      if (left?.count === 0) break
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    const cost = await end()
    const us = (total: number) => (total / runs).toFixed(1).padStart(6)
    console.log(
      `${Math.round(runs / cost.seconds)
        .toString()
        .padStart(
          6,
        )} runs/s  CPU µs/run ${us(cost.postgresCpuUs + cost.nodeCpuUs)} (postgres ${us(cost.postgresCpuUs)}, node ${us(cost.nodeCpuUs)})  WAL ${Math.round(cost.walBytes / runs)} B/run  RSS ${Math.round(residentMiB(nodes[0]?.pid ?? 0))} MiB`,
    )
    for (const node of nodes) await node.stop()
  } finally {
    await bench.close()
  }
}
