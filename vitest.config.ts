import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** What waits for processes, browsers and clocks first, what only computes last: so both cores are busy to the end. */
const ORDER = ['test/scenarios/', 'test/browser/', 'test/cli/', 'test/', 'src/', 'web/']

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const root = this.ctx.config.root
    const rank = ({ moduleId }: TestSpecification) =>
      ORDER.findIndex((folder) => moduleId.startsWith(`${root}/${folder}`))
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b))
  }
}

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'web/**/*.test.ts', 'test/**/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    setupFiles: ['test/support/set-up-file.ts'],
    pool: 'forks',
    maxWorkers: 2,
    // Files share a process, and so load the program once and not each for itself: that was a third of the time. What a
    // module keeps for a file it lets go of in `whenFileEnds`.
    isolate: false,
    sequence: { sequencer: LongestFirst },
    // A machine that others use too may stand still for seconds. What fails a second time is wrong; what does not is told
    // as `retry x1` in the report, and is to be looked into.
    retry: 1,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
})
