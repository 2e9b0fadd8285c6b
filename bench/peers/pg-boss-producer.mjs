/** Puts jobs into pg-boss and tells how many are left. */
import pg from 'pg'
import PgBoss from 'pg-boss'
import { serve } from './channel.mjs'
import { timeBulk, timeCreates } from './latencies.mjs'

const BATCH = 10_000
const job = { name: 'work', data: { hello: 'world' } }

let boss
let pool

serve({
  setup: async ({ url, connections }) => {
    pool = new pg.Pool({ connectionString: url, max: 1 })
    // Maintenance is left to the workers.
    boss = new PgBoss({ connectionString: url, max: connections, supervise: false, schedule: false })
    boss.on('error', (error) => console.error(error))
    await boss.start()
    await boss.createQueue('work')
  },
  fill: ({ count }) => timeBulk(count, BATCH, addMany),
  left: () => count("state < 'completed'"),
  completed: () => count("state = 'completed'"),
  single: ({ count, connections }) => timeCreates(count, connections, () => boss.send(job.name, job.data)),
  bulk: ({ count, batch }) => timeBulk(count, batch, addMany),
})

/** @param {number} count */
function addMany(count) {
  return boss.insert(Array.from({ length: count }, () => job))
}

/** @param {string} condition */
async function count(condition) {
  const { rows } = await pool.query(
    `select count(*)::integer as count from pgboss.job where name = 'work' and ${condition}`,
  )
  return rows[0].count
}
