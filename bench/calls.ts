import { CALLS_COLUMNS, type CallsRow, takeClient, takeNode } from './support/calls-under-way.ts'
import { benchmark, someOf, whole } from './support/command.ts'
import { startPostgres } from './support/postgres.ts'

const PARTS = ['client', 'node'] as const

await benchmark({
  name: 'calls',
  question: 'What do calls cost in memory while their targets do not answer?',
  options: {
    part: someOf(PARTS, 'What is measured'),
    calls: whole(5_000, 'Calls under way'),
    targets: whole(50, 'Targets that they are spread over'),
  },
  run: async ({ part: parts, calls, targets }, report) => {
    const rows: CallsRow[] = []
    if (parts.includes('client')) {
      report.step('the HTTP client alone')
      rows.push(await takeClient({ calls, targets }))
    }
    if (parts.includes('node')) {
      report.step('a whole node')
      rows.push(await takeNode({ calls, targets }, await startPostgres()))
    }
    report.table('calls', 'Memory of calls under way', CALLS_COLUMNS, rows)
  },
})
