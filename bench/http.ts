import { benchmark, someOf, whole } from './support/command.ts'
import { compare } from './support/compare.ts'
import { CALLERS } from './support/contender.ts'
import { startSink } from './support/sink.ts'

await benchmark({
  name: 'http',
  question: 'How fast is a backlog of HTTP calls worked off, and what does one call cost?',
  options: {
    runs: whole(30_000, 'Runs to work off, one POST each'),
    nodes: whole(1, 'Processes for each contender'),
    rounds: whole(3, 'How often each contender has its turn'),
    only: someOf(CALLERS, 'Who takes part'),
  },
  run: async ({ runs, nodes, rounds, only }, report) => {
    const sink = await startSink()
    await compare({ only, rounds, workload: { runs, nodes, sinkUrl: sink.url }, sink, report })
  },
})
