/** `belfry worker`: runs a worker on this machine that communicates with a server over HTTP, until it is asked to stop. */

import { hostname } from 'node:os'
import { fileURLToPath } from 'node:url'
import { DEFAULT_CONCURRENCY } from '../../core/run/claim.ts'
import { isOwnLabel, OWN_LABEL_RULE } from '../../core/run/own-labels.ts'
import { parseNetwork } from '../../core/values/network.ts'
import { printable } from '../../core/values/printable.ts'
import { Calls } from '../../fleet/calls.ts'
import { FleetWorker } from '../../fleet/fleet-worker.ts'
import { HandlersError, loadHandlers } from '../../fleet/handlers-module.ts'
import { type FoundPrograms, findPrograms } from '../../fleet/programs.ts'

import { findCommands } from '../../programs/allowed-commands.ts'
import type { Config } from '../../runtime/config/settings.ts'
import { Refused } from '../../sdk/refused.ts'
import { type ConnectionFlags, connectionFrom } from '../client/connection.ts'
import { usage } from '../client/flag-values.ts'
import { authorityFrom } from '../client/server.ts'
import { configFrom } from '../config-flags.ts'
import { CliError, EXIT } from '../exit.ts'
import { Steps } from '../steps.ts'
import { printOut } from '../terminal.ts'
import { VERSION } from '../version.ts'

/** The build places the runner next to the program. */
const RUNNER = fileURLToPath(new URL('./runner.js', import.meta.url))
const MAX_CONCURRENCY = 10_000
const MAX_LABEL_CHARACTERS = 100
/** Including the labels that every worker has. */
const MAX_LABELS = 20

interface WorkerFlags extends ConnectionFlags {
  readonly label?: readonly string[]
  readonly queue?: readonly string[]
  readonly concurrency?: string
  readonly name?: string
  readonly handlers?: string
  readonly http?: boolean
  readonly caFile?: string
}

export async function startWorker(flags: WorkerFlags): Promise<void> {
  const config = configFrom(flags as Readonly<Record<string, unknown>>)
  const { urls, key } = placeOf(flags)
  const ca = authorityFrom(flags.caFile, process.env)
  const concurrency = readConcurrency(flags.concurrency)
  const labels = labelsOf(flags.label ?? [], config)
  const handlers = flags.handlers === undefined ? new Map() : await handlersOf(flags.handlers)
  const steps = new Steps()
  steps.title(`Belfry worker ${VERSION}`)
  steps.begin('programs', 'looking for a sandbox')
  const programs = await findPrograms(
    { ...config, execConcurrency: concurrency },
    networkOf(config).allowPrivate,
  )
  tellPrograms(steps, programs)
  const calls =
    flags.http === false ? null : new Calls({ ...networkOf(config), userAgent: `belfry/${VERSION}` })
  if (programs.settings === null && calls === null && handlers.size === 0) throw nothingToDo()
  if (calls) steps.done('calls', 'of tasks that require one of its labels')
  if (handlers.size > 0) steps.done('handlers', printable([...handlers.keys()].join(', ')))
  steps.done('labels', printable(labels.join(', ')))
  const worker = new FleetWorker({
    server: urls,
    ...(key === null ? {} : { key }),
    ...(ca === null ? {} : { ca }),
    ...(flags.queue === undefined ? {} : { queues: flags.queue }),
    ...(flags.name === undefined ? {} : { name: flags.name }),
    version: VERSION,
    concurrency,
    labels,
    graceMs: config.shutdownGraceMs,
    programs: programs.settings && {
      ...programs,
      settings: programs.settings,
      entry: RUNNER,
      servers: urls,
      ca,
    },
    commands: programs.commands,
    findCommands: () => findCommands(config.execCommands),
    calls,
    onStarted: () => tellStarted(steps, { urls, concurrency, graceMs: config.shutdownGraceMs }),
  })
  for (const [name, handler] of handlers) worker.handle(name, handler)
  steps.begin('server', `connecting to ${urls.join(', ')}`)
  await worker.run().catch(explain)
  await calls?.close()
}

function placeOf(flags: WorkerFlags): { readonly urls: readonly string[]; readonly key: string | null } {
  const given = (flags.server ?? process.env['BELFRY_URL'] ?? '')
    .split(',')
    .map((url) => url.trim())
    .filter(Boolean)
  const [first, ...others] = given
  const { url, key } = connectionFrom(
    { ...flags, ...(first === undefined ? {} : { server: first }) },
    process.env,
  )
  return {
    urls: [url, ...others.map((server) => connectionFrom({ ...flags, server }, process.env).url)],
    key,
  }
}

function readConcurrency(text: string | undefined): number {
  if (text === undefined) return DEFAULT_CONCURRENCY
  const number = /^\d{1,6}$/.test(text) ? Number(text) : 0
  if (number >= 1 && number <= MAX_CONCURRENCY) return number
  throw usage(
    `--concurrency is '${printable(text)}'; it must be a whole number from 1 to ${MAX_CONCURRENCY}.`,
  )
}

/** Returns the configured labels, and those for the platform, architecture and host. */
function labelsOf(given: readonly string[], { labels: configured }: Config): readonly string[] {
  for (const label of given) {
    const isGood = label.length >= 1 && label.length <= MAX_LABEL_CHARACTERS && !/[\s,]/.test(label)
    if (!isGood)
      throw usage(
        `--label is '${printable(label)}'; it must be 1 to ${MAX_LABEL_CHARACTERS} characters without spaces and commas, such as region=eu.`,
      )
    if (isOwnLabel(label)) throw usage(`--label is '${printable(label)}'; a label ${OWN_LABEL_RULE}.`)
  }
  const all = [...given, ...configured]
  const isGiven = (own: string) => all.some((label) => label.startsWith(own.slice(0, own.indexOf('=') + 1)))
  const host = hostname()
    .slice(0, MAX_LABEL_CHARACTERS - 'host='.length)
    .replace(/[\s,]/g, '-')
  const own = [`os=${process.platform}`, `arch=${process.arch}`, `host=${host}`]
  const labels = [...new Set([...own.filter((label) => !isGiven(label)), ...all])]
  if (labels.length <= MAX_LABELS) return labels
  throw usage(
    `The worker has ${labels.length} labels, os, arch and host among them; at most ${MAX_LABELS} are allowed.`,
  )
}

async function handlersOf(path: string) {
  try {
    return await loadHandlers(path, process.cwd())
  } catch (error) {
    if (!(error instanceof HandlersError)) throw error
    throw new CliError(error.message, 'Give a module such as ./handlers.mjs with --handlers.', EXIT.usage)
  }
}

const nothingToDo = () =>
  new CliError(
    'This worker can perform nothing: it runs no programs, makes no calls and has no handlers.',
    'Enable programs, provide handlers with --handlers, or remove --no-http.',
    EXIT.usage,
  )

const networkOf = (config: Config) => ({
  allowPrivate: config.privateAddresses === 'allow',
  allowedNetworks: config.allowedPrivateNetworks.flatMap((text) => parseNetwork(text) ?? []),
})

function tellPrograms(steps: Steps, { state, commands }: FoundPrograms): void {
  steps.clear()
  steps[state.isConcern || !state.canRun ? 'note' : 'done']('programs', state.text)
  if (commands.length > 0) steps.done('commands', printable(commands.join(', ')))
}

function tellStarted(
  steps: Steps,
  { urls, concurrency, graceMs }: { urls: readonly string[]; concurrency: number; graceMs: number },
): void {
  steps.done('server', urls.join(', '))
  const seconds = Math.round(graceMs / 1_000)
  printOut(`\n  Up to ${concurrency} runs at once. Stop: Ctrl-C (runs in progress get ${seconds} s)\n\n`)
}

/** Reports why the server rejected the worker. */
function explain(error: unknown): never {
  if (!(error instanceof Refused)) throw error
  const isKey = error.status === 401 || error.status === 403
  throw new CliError(
    error.message,
    isKey
      ? 'Create a key with belfry key create --name fleet --role worker, and pass it in BELFRY_KEY.'
      : 'For the options of workers: belfry worker --help',
    isKey ? EXIT.unauthorised : error.status === 409 ? EXIT.conflict : EXIT.failed,
    { code: error.code },
  )
}
