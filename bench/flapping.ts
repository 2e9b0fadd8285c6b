import { benchmark, whole, wholes } from './support/command.ts'
import { type FlappingRow, flap } from './support/flapping-target.ts'

interface Row extends FlappingRow {
  readonly tasks: number
  readonly circuit: 'with' | 'without'
}

await benchmark({
  name: 'flapping',
  question: 'How many attempts does a circuit save when a target is up and down by turns? (simulated time)',
  options: {
    days: whole(7, 'How long the target is called'),
    tasks: wholes([10, 60], 'Tasks that call it, each once a minute'),
    seed: whole(15, 'When it is up and down follows from this number'),
  },
  run: async ({ days, tasks: counts, seed }, report) => {
    const rows: Row[] = []
    for (const tasks of counts)
      for (const circuit of ['without', 'with'] as const)
        rows.push({ tasks, circuit, ...flap({ hasCircuit: circuit === 'with', days, tasks, seed }) })
    report.table(
      'flapping',
      `${days} days of a target that is up and down by turns`,
      [
        { title: 'tasks', of: (row) => row.tasks },
        { title: 'circuit', of: (row) => row.circuit },
        { title: 'down %', of: (row) => row.downPercent },
        { title: 'runs', of: (row) => row.runs },
        { title: 'attempts', of: (row) => row.attempts },
        { title: 'burnt', of: (row) => row.burnt },
        { title: 'burnt s', of: (row) => row.burntSeconds },
        { title: 'gave up', of: (row) => row.gaveUp },
        { title: 'waited s', of: (row) => row.waitedSeconds },
        { title: 'after it was up s', of: (row) => row.overdueSeconds },
      ],
      rows,
    )
  },
})
