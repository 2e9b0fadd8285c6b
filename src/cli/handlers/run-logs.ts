import { once } from 'node:events'
import type { LogLine } from '../../api/resources/runs/log-schemas.ts'
import { LogText } from '../../core/run/log-text.ts'
import { isLiveState } from '../../core/run/run.ts'
import { follow } from '../client/event-stream.ts'
import { instantAgo } from '../client/instant-flag.ts'
import { type ClientFlags, remark, serverFrom, write, writeField } from '../client/output.ts'
import type { RunWithAttempts } from '../client/run-words.ts'
import { queryOf, type Server } from '../client/server.ts'
import { exitCodeOf } from '../client/wait.ts'
import { remarkLost } from './events.ts'
import { pathOf } from './runs.ts'

/** Flags that select and format log lines. */
export interface LogFlags extends ClientFlags {
  readonly follow?: boolean
  readonly attempt?: string
  readonly since?: string
  readonly search?: string
  readonly timestamps?: boolean
}

/** Maximum page size of the server. */
const PAGE = 1_000

export async function showLogs(id: string, flags: LogFlags): Promise<void> {
  const server = serverFrom(flags)
  const path = await pathOf(server, id)
  const { attempt, since, search: q } = flags
  const filter = { attempt, q, since: since === undefined ? undefined : instantAgo(since, server) }
  const printer = new Printer(flags)
  const isEmpty = flags.follow
    ? await followLog(server, `${path}/log${queryOf(filter)}`, printer)
    : await readLog(server, `${path}/log`, filter, printer)
  await printer.end()
  if (!flags.follow && !isEmpty) return
  const run = await server.get<RunWithAttempts>(path)
  if (flags.follow) process.exitCode = exitCodeOf(run)
  if (isEmpty)
    remark(
      isLiveState(run.state)
        ? `No lines so far. To follow the log: belfry run logs ${run.id} --follow\n`
        : 'No lines found.\n',
    )
}

/** Prints the existing lines. Returns whether there were none. */
async function readLog(
  server: Server,
  path: string,
  filter: Readonly<Record<string, string | undefined>>,
  printer: Printer,
): Promise<boolean> {
  let isEmpty = true
  for (let after: string | null | undefined; after !== null; ) {
    const page: { items: LogLine[]; nextCursor: string | null } = await server.get(
      path + queryOf({ ...filter, limit: PAGE, after }),
    )
    isEmpty &&= page.items.length === 0
    await printer.print(page.items)
    after = page.nextCursor
  }
  return isEmpty
}

/** Prints lines as they arrive until the run has ended. Returns whether there were none. */
async function followLog(server: Server, path: string, printer: Printer): Promise<boolean> {
  let isEmpty = true
  const onLost = (error: unknown, againMs: number) => remarkLost(error, againMs, 'lines')
  for await (const { event, data } of follow(server, path, { onLost })) {
    if (event === 'lines') {
      isEmpty = false
      await printer.print(JSON.parse(data))
    }
    if (event === 'end' && JSON.parse(data).reason === 'ended') break
  }
  return isEmpty
}

/** Prints log lines: unchanged for programs; on a terminal, control characters are made harmless. */
class Printer {
  readonly #flags: LogFlags
  readonly #text: LogText

  constructor(flags: LogFlags) {
    this.#flags = flags
    this.#text = new LogText({
      hasTimes: flags.timestamps === true,
      hasAttempts: flags.attempt === undefined,
    })
  }

  async print(lines: readonly LogLine[]): Promise<void> {
    const { json, field } = this.#flags
    if (lines.length === 0) return
    if (field !== undefined) writeField(lines, field)
    else if (json) await put(lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
    else await put(this.#text.page(lines.map((line) => ({ ...line, at: Date.parse(line.at) }))))
  }

  async end(): Promise<void> {
    const { json, field } = this.#flags
    if (field === undefined && !json) await put(this.#text.end())
  }
}

async function put(text: string): Promise<void> {
  if (process.stdout.isTTY) write(text.replaceAll('\t', '    ').replace(OVERWRITTEN, ''))
  else if (!process.stdout.write(text)) await once(process.stdout, 'drain')
}

/** Text that a terminal would have overwritten after a carriage return. */
const OVERWRITTEN = /^.*\r(?!\n)/gm
