/**
 * What every benchmark has in common on the command line: it says first which question it answers, reads
 * its options, prints tables for people or one JSON object for programs, and leaves nothing behind.
 */
import { cpus, totalmem } from 'node:os'
import { parseArgs } from 'node:util'
import { cleanUp } from './cleanup.ts'
import { wantProfiles } from './profile.ts'
import { Report } from './report.ts'
import { wantStatements } from './statements.ts'

/** One option: `--name value`, or `--name` alone when it is a flag. */
export interface Option<T> {
  readonly fallback: T
  readonly help: string
  readonly isFlag?: boolean
  /** The value of a text; throws a sentence that says what is allowed. */
  parse(text: string): T
}

type Values<O> = { readonly [K in keyof O]: O[K] extends Option<infer T> ? T : never }

export interface Benchmark<O extends Record<string, Option<unknown>>> {
  readonly name: string
  readonly question: string
  readonly options: O
  run(options: Values<O>, report: Report): Promise<void>
}

export const whole = (fallback: number, help: string): Option<number> => ({
  fallback,
  help,
  parse: (text) => (/^\d{1,9}$/.test(text) ? Number(text) : fail('must be a whole number')),
})

export const wholes = (fallback: readonly number[], help: string): Option<readonly number[]> => ({
  fallback,
  help,
  parse: (text) => text.split(',').map((part) => whole(0, '').parse(part.trim())),
})

export const flag = (help: string): Option<boolean> => ({
  fallback: false,
  help,
  isFlag: true,
  parse: () => true,
})

/** Several values of a closed list, separated by commas. */
export const someOf = <T extends string>(all: readonly T[], help: string): Option<readonly T[]> => ({
  fallback: all,
  help,
  parse: (text) =>
    text.split(',').map((part) => {
      const found = all.find((item) => item === part.trim())
      return found ?? fail(`knows ${all.join(', ')}`)
    }),
})

const COMMON = [
  ['--statements', "Also what each of the database's statements cost"],
  ['--profile', 'Also which functions of the nodes took most time'],
  ['--json', 'One JSON object instead of tables'],
]
const SIGNALS = ['SIGINT', 'SIGTERM'] as const

export async function benchmark<O extends Record<string, Option<unknown>>>(it: Benchmark<O>): Promise<void> {
  const { json, statements, profile, ...values } = readOptions(it)
  if (statements) wantStatements()
  if (profile) wantProfiles()
  const report = new Report({ isQuiet: json })
  report.say(`${it.name}: ${it.question}`)
  let isInterrupted = false
  for (const signal of SIGNALS)
    process.once(signal, () => {
      isInterrupted = true
      void cleanUp().finally(() => process.exit(1))
    })
  // The reader of the output has closed it, as `head` does: no servers may be left running.
  for (const stream of [process.stdout, process.stderr]) {
    stream.once('error', () => process.kill(process.pid, 'SIGTERM'))
    stream.on('error', () => {})
  }
  try {
    await it.run(values as Values<O>, report)
    if (json) {
      const machine = { cpus: cpus().length, memoryBytes: totalmem(), node: process.version }
      const about = { benchmark: it.name, question: it.question, options: values, machine }
      process.stdout.write(`${JSON.stringify({ ...about, ...report.results })}\n`)
    }
  } catch (error) {
    // An interrupted benchmark fails in many ways that are not worth reporting.
    if (!isInterrupted) console.error(error instanceof Error ? (error.stack ?? error.message) : error)
    process.exitCode = 1
  } finally {
    await cleanUp()
  }
  process.exit()
}

function readOptions<O extends Record<string, Option<unknown>>>({ name, question, options }: Benchmark<O>) {
  const entries = Object.entries(options)
  const config = Object.fromEntries([
    ...entries.map(([key, { isFlag }]) => [kebab(key), { type: isFlag ? 'boolean' : 'string' }]),
    ['json', { type: 'boolean' }],
    ['statements', { type: 'boolean' }],
    ['profile', { type: 'boolean' }],
    ['help', { type: 'boolean' }],
  ]) as Record<string, { type: 'string' | 'boolean' }>
  try {
    const { values } = parseArgs({ options: config })
    if (values['help']) {
      console.log(`${name}: ${question}\n\n${helpOf(entries)}`)
      process.exit(0)
    }
    const read = entries.map(([key, option]) => {
      const given = values[kebab(key)]
      try {
        return [key, given === undefined ? option.fallback : option.parse(String(given))]
      } catch (error) {
        throw new Error(`--${kebab(key)} ${(error as Error).message}.`)
      }
    })
    const common = {
      json: values['json'] === true,
      statements: values['statements'] === true,
      profile: values['profile'] === true,
    }
    return { ...Object.fromEntries(read), ...common } as Record<string, unknown> & typeof common
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${helpOf(entries)}`)
    process.exit(2)
  }
}

function helpOf(entries: readonly [string, Option<unknown>][]): string {
  const lines = entries.map(([key, { fallback, help, isFlag }]) => [
    `--${kebab(key)}`,
    isFlag ? help : `${help} (${String(fallback)})`,
  ])
  return [...lines, ...COMMON].map(([option = '', help]) => `  ${option.padEnd(20)} ${help}`).join('\n')
}

const kebab = (key: string) => key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)

function fail(reason: string): never {
  throw new Error(reason)
}
