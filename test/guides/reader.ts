/**
 * Somebody who follows a guide to the letter: saves the files, types the commands, and compares what comes with what the
 * page shows. The commands are the real ones. Three stand-ins keep a reader off the network: `git clone` gives the clone
 * at hand, `npm install` links packages that the project has, and `npx` finds programs there.
 */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { endOfMatch } from './output.ts'
import { type Block, blocksOf, commandsOf, paragraphBefore, stepsOf } from './page.ts'
import { type Place, Program, Shell, signalOf } from './terminal.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '')
/** Ports that the guides use; a reader here gets free ones for them. */
const PORTS = [3369, 3370, 3371, 4000]
const EXACT_TIMES = '<!-- times are exact -->'

/** What only looks is looked at again while it is not yet as the page says, as a reader would. */
const LOOKS = /^npx belfry [a-z-]+ (list|show|why|ledger)\b/
const PATIENCE_MS = 30_000

const STAND_INS = {
  git: 'ln -s "$GUIDE_ROOT" "$3"',
  npm: `if [ "$1" != install ]; then exec "$GUIDE_NPM" "$@"; fi
shift; mkdir -p node_modules
for name; do
  case "$name" in
    -*) continue ;;
    ../belfry) from=$GUIDE_ROOT to=belfry ;;
    *) from=$GUIDE_ROOT/node_modules/$name to=$name ;;
  esac
  test -e "$from" || { echo "$name is no package of this project"; exit 1; }
  mkdir -p "$(dirname "node_modules/$to")" && ln -sfn "$from" "node_modules/$to"
done`,
  npx: `name=$1; shift
if [ "$name" = belfry ]; then exec node "$GUIDE_ROOT/bin/belfry.cjs" "$@"; fi
exec "$GUIDE_ROOT/node_modules/.bin/$name" "$@"`,
}

export interface Circumstances {
  /** A directory of the reader's own. */
  readonly home: string
  /** A Belfry that runs already, for guides that begin with one. */
  readonly server?: string
  readonly env?: Readonly<Record<string, string>>
  /** Where the page starts a server on the default port: the variable that names the one it gets here. */
  readonly portVariable?: string
  /** What stands on the page, and what this reader has in its place. */
  readonly instead?: Readonly<Record<string, string>>
}

/** Follows a page from top to bottom, and fails at the first line that is not as the page says. */
export async function follow(page: string, circumstances: Circumstances): Promise<void> {
  const reader = await Reader.open(page, circumstances)
  try {
    for (const block of blocksOf(page)) await reader.do(block)
  } finally {
    await reader.close()
  }
}

class Reader {
  readonly #page: string
  readonly #place: Place
  readonly #shell: Shell
  readonly #programs = new Map<string, Program>()
  /** As on the page, and as it is here. */
  readonly #pairs: readonly (readonly [string, string])[]
  #status = 0

  private constructor(page: string, place: Place, pairs: readonly (readonly [string, string])[]) {
    this.#page = page
    this.#place = place
    this.#pairs = pairs
    this.#shell = new Shell(place)
  }

  static async open(page: string, circumstances: Circumstances): Promise<Reader> {
    const { home, server, portVariable, env = {}, instead = {} } = circumstances
    const ports = await freePorts(PORTS.length)
    if (server !== undefined) ports[0] = Number(new URL(server).port)
    const pairs = [...Object.entries(instead), ...PORTS.map((port, i) => [`${port}`, `${ports[i]}`] as const)]
    const url = `http://127.0.0.1:${ports[0]}`
    const place = {
      cwd: home,
      env: {
        PATH: `${standInsIn(home)}${delimiter}${process.env['PATH']}`,
        HOME: home,
        TZ: 'Europe/Berlin',
        GUIDE_ROOT: ROOT,
        npm_config_update_notifier: 'false',
        GUIDE_NPM: await pathOfNpm(),
        BELFRY_URL: url,
        ...(portVariable === undefined ? {} : { [portVariable]: `${ports[0]}` }),
        ...env,
      },
    }
    return new Reader(page, place, pairs)
  }

  async do(block: Block): Promise<void> {
    try {
      if (block.kind === 'file') await this.#save(block)
      else if (block.kind === 'sh') for (const command of commandsOf(block)) await this.#type(command)
      else if (block.kind === 'console' && block.name !== null) await this.#watch(block, block.name)
      else if (block.kind === 'console')
        for (const { command, output } of stepsOf(block)) await this.#type(command ?? '', output)
    } catch (error) {
      throw new Error(`line ${block.line}: ${(error as Error).message}`)
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#programs.values(), this.#shell].map((terminal) => terminal.close()))
  }

  async #save({ name, text, line }: Block): Promise<void> {
    if (!paragraphBefore(this.#page, line).includes(`\`${name}\``))
      throw new Error(`the text before it does not say to save it as ${name}`)
    writeFileSync(join(await this.#directory(), name ?? ''), `${this.#here(text)}\n`)
  }

  /** A command that fails is followed by one that shows `$?`, or it should not have failed. */
  async #type(command: string, expected?: readonly string[]): Promise<void> {
    const typed = this.#here(command)
    if (this.#status !== 0 && typed !== 'echo $?')
      throw new Error(`the command before exited ${this.#status}`)
    const deadline = performance.now() + (LOOKS.test(typed) ? PATIENCE_MS : 0)
    for (;;) {
      const { output, status } = await this.#shell.run(typed)
      const shown = this.#onPage(output)
      this.#status = status
      if (expected === undefined && status !== 0) throw new Error(`exited ${status}:\n${shown}`)
      if (expected === undefined || this.#match(expected, `${shown}\n`, true) !== null) return
      if (performance.now() > deadline)
        throw new Error(
          `$ ${command}\n--- The page shows:\n${expected.join('\n')}\n--- It printed:\n${shown}\n---`,
        )
    }
  }

  /** Begins a program in a terminal of its own, or goes on reading there; a key that is shown is pressed. */
  async #watch(block: Block, name: string): Promise<void> {
    for (const { command, output } of stepsOf(block)) {
      if (command !== null) {
        const place = { ...this.#place, cwd: await this.#directory() }
        await this.#programs.get(name)?.close()
        this.#programs.set(name, new Program(this.#here(command), place))
      }
      await this.#expect(name, output)
    }
  }

  async #expect(name: string, output: readonly string[]): Promise<void> {
    const program = this.#programs.get(name)
    if (program === undefined) throw new Error(`there is no terminal ${name}`)
    const at = output.findIndex((line) => signalOf(line) !== undefined)
    const before = at < 0 ? output : output.slice(0, at)
    const matched = (text: string) => this.#match(before, this.#onPage(text), false)
    await program.says(matched, before.join('\n'))
    const signal = signalOf(output[at] ?? '')
    if (signal === undefined) return
    program.press(signal)
    await this.#expect(name, output.slice(at + 1))
    await program.ended()
  }

  #match(expected: readonly string[], actual: string, isWhole: boolean): number | null {
    return endOfMatch(expected, actual, { areTimesExact: this.#page.includes(EXACT_TIMES), isWhole })
  }

  async #directory(): Promise<string> {
    const { output } = await this.#shell.run('pwd')
    return output.trim()
  }

  #here(text: string): string {
    return this.#pairs.reduce((changed, [there, here]) => replaceWord(changed, there, here), text)
  }

  #onPage(text: string): string {
    return this.#pairs.reduce((changed, [there, here]) => replaceWord(changed, here, there), text)
  }
}

/** Not within a longer number or word. */
const replaceWord = (text: string, from: string, to: string) =>
  text.split(new RegExp(`(?<!\\w)${from.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')}(?!\\w)`)).join(to)

function standInsIn(home: string): string {
  const folder = join(home, '.stand-ins')
  mkdirSync(folder)
  for (const [name, script] of Object.entries(STAND_INS)) {
    writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`)
    chmodSync(join(folder, name), 0o755)
  }
  return folder
}

async function pathOfNpm(): Promise<string> {
  const shell = new Shell({ cwd: '/', env: { PATH: process.env['PATH'] ?? '' } })
  const { output } = await shell.run('command -v npm')
  await shell.close()
  return output.trim()
}

/** Held open together, so that all are different. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer())
  const ports = await Promise.all(
    servers.map(
      (server) =>
        new Promise<number>((resolve) => {
          server.listen(0, '127.0.0.1', () => resolve((server.address() as { port: number }).port))
        }),
    ),
  )
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
  return ports
}
