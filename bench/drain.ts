import { benchmark, someOf, whole } from './support/command.ts'
import { compare } from './support/compare.ts'
import { CONTENDERS } from './support/contender.ts'

await benchmark({
  name: 'drain',
  question: 'How fast is a backlog of runs that do nothing worked off, and what does one run cost?',
  options: {
    runs: whole(60_000, 'Runs to work off'),
    nodes: whole(1, 'Processes for each contender'),
    rounds: whole(3, 'How often each contender has its turn'),
    only: someOf(CONTENDERS, 'Who takes part'),
  },
  run: ({ runs, nodes, rounds, only }, report) =>
    compare({ only, rounds, workload: { runs, nodes, sinkUrl: null }, sink: null, report }),
})
