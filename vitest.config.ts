import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Tests that wait for processes and clocks start first, those that only compute last, which keeps both cores busy to the end. */
const ORDER = ['test/scenarios/', 'test/cli/', 'test/', 'src/', 'web/']
/** A browser needs a whole core, and a scenario mostly waits, so the two start in turn and run side by side. */
const DEMANDING = 'test/browser/'

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isIn = (folder: string, { moduleId }: TestSpecification) =>
      moduleId.startsWith(`${this.ctx.config.root}/${folder}`)
    const rank = (file: TestSpecification) => ORDER.findIndex((folder) => isIn(folder, file))
    const sorted = await super.sort(files)
    const demanding = sorted.filter((file) => isIn(DEMANDING, file))
    const others = sorted.filter((file) => !isIn(DEMANDING, file)).sort((a, b) => rank(a) - rank(b))
    const waiting = others.filter((file) => rank(file) === 0)
    const stretch = Math.max(1, Math.floor(waiting.length / Math.max(1, demanding.length)))
    const beside = demanding.flatMap((file, i) => [file, ...waiting.slice(i * stretch, (i + 1) * stretch)])
    return [...beside, ...waiting.slice(demanding.length * stretch), ...others.slice(waiting.length)]
  }
}

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'web/**/*.test.ts', 'test/**/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    setupFiles: ['test/support/set-up-file.ts'],
    pool: 'forks',
    // Two for each core of a small machine: many tests wait for processes, clocks and the database. With three workers the cores of
    // two were idle for an eighth of the time, with four for a twentieth.
    maxWorkers: 4,
    // Files share a process, and so load the program once and not each for itself: that was a third of the time. What a
    // module keeps for a file it lets go of in `whenFileEnds`.
    isolate: false,
    sequence: { sequencer: LongestFirst },
    // Longer than `eventually` waits, so that what fails says what it waited for.
    testTimeout: 180_000,
    hookTimeout: 180_000,
  },
})
