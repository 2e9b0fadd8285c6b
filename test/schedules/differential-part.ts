/** One process of `npm run suite schedules`: compares its share and tells how far it has come, a line of JSON each. */
import { parseArgs } from 'node:util'
import { compareWithOracle } from './differential.ts'

const number = { type: 'string' } as const
const { values } = parseArgs({ options: { cases: number, seed: number, part: number, parts: number } })
const tell = (message: unknown) => process.stdout.write(`${JSON.stringify(message)}\n`)

const result = compareWithOracle({
  cases: Number(values.cases),
  seed: Number(values.seed),
  part: Number(values.part),
  parts: Number(values.parts),
  onProgress: (done) => tell({ done }),
})
tell({ result })
