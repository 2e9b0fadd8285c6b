import { benchmark, whole } from './support/command.ts'
import { BATCH, DueTrial, FEW, isSlow, nameOf, WAYS } from './support/due-trial.ts'
import { connect, createBelfryDatabase, startPostgres } from './support/postgres.ts'

await benchmark({
  name: 'due-index',
  question: 'Would the due index be better off in partitions by day or by hour than in shards alone?',
  options: {
    future: whole(1_000_000, 'Rows due within the next 30 days, in each layout'),
    due: whole(100_000, 'Rows that come due while it is measured, in each layout'),
    rounds: whole(4, 'Rounds, in which the layouts take turns'),
  },
  run: async ({ future, due, rounds }, report) => {
    const server = await startPostgres()
    const { url, db: watching } = await createBelfryDatabase(server, 'bench_due_index')
    const trial = new DueTrial(connect(url, 1), watching)
    await trial.fill(future, report)

    for (let round = 0; round < rounds; round++)
      for (const way of WAYS) {
        report.step(`round ${round + 1} of ${rounds}: ${nameOf(way)}`)
        await trial.take(way, isSlow(way) ? FEW : Math.ceil(due / rounds / BATCH) * BATCH)
      }
    trial.tell(report)
    await trial.explain(report)
    await trial.vacuum(report)
    await trial.lookFar(report)
    await trial.close()
  },
})
