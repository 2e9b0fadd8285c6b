import { BROKEN_COLUMNS, BROKEN_KINDS, type BrokenRow, takeBroken } from './support/broken-targets.ts'
import { benchmark, someOf, whole, wholes } from './support/command.ts'
import {
  ACTIONS,
  BURSTS,
  NEIGHBOUR_COLUMNS,
  type NeighbourRow,
  ROLES,
  takeNeighbours,
} from './support/neighbours.ts'
import { startPostgres } from './support/postgres.ts'
import { SLOW_COLUMNS, takeSlow } from './support/slow-target.ts'

const PARTS = ['broken', 'slow', 'neighbours'] as const

await benchmark({
  name: 'targets',
  question: 'How late are calls to a healthy target beside broken ones, and runs beside a burst of others?',
  options: {
    part: someOf(PARTS, 'What is measured'),
    kind: someOf(BROKEN_KINDS, 'What the broken targets do'),
    broken: wholes([1, 50], 'Number of broken targets'),
    nodes: wholes([1, 3], 'Nodes'),
    runs: whole(500, 'Calls to the broken targets, due one second before the first to the healthy one'),
    seconds: whole(10, 'How long 100 calls are due each second to the healthy target'),
    burst: whole(50_000, 'Runs that are due in one instant, in the part neighbours'),
    of: someOf(BURSTS, 'What these runs have in common'),
    roles: someOf(ROLES, 'Roles of the nodes, in the part neighbours; split: one schedules, the others work'),
    action: someOf(ACTIONS, 'What all runs do, in the part neighbours'),
  },
  run: async ({ part: parts, kind: kinds, broken, nodes, runs, seconds, ...rest }, report) => {
    const server = await startPostgres()
    if (parts.includes('broken')) {
      const rows: BrokenRow[] = []
      for (const count of nodes)
        for (const kind of kinds)
          for (const targets of broken) {
            report.step(`${kind}, broken targets: ${targets}, nodes: ${count}`)
            rows.push(await takeBroken({ kind, broken: targets, nodes: count, runs, seconds }, server))
          }
      const title = `Lateness in ms of calls to a healthy target beside ${runs} calls to broken ones`
      report.table('broken', title, BROKEN_COLUMNS, rows)
    }
    if (parts.includes('slow')) {
      report.step('a target that takes 2 s for every call')
      report.table('slow', 'A healthy target that takes 2 s', SLOW_COLUMNS, [await takeSlow(server)])
    }
    if (!parts.includes('neighbours')) return
    const rows: NeighbourRow[] = []
    for (const count of nodes)
      for (const roles of rest.roles)
        for (const action of rest.action)
          for (const of of rest.of) {
            report.step(`${rest.burst} runs of one ${of}, ${action}, roles: ${roles}, nodes: ${count}`)
            rows.push(await takeNeighbours({ of, action, roles, nodes: count, burst: rest.burst }, server))
          }
    const title = `Lateness in ms of 100 runs/s beside ${rest.burst} runs that are due in one instant`
    report.table('neighbours', title, NEIGHBOUR_COLUMNS, rows)
  },
})
