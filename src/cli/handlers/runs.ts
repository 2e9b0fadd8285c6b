import { randomUUID } from 'node:crypto'
import type { Run } from '../../api/resources/runs/schemas.ts'
import { printable } from '../../core/values/printable.ts'
import { outcomeWords } from '../../core/words/outcome.ts'
import { findRunId } from '../client/id-prefix.ts'
import { type ClientFlags, give, remark, serverFrom, write } from '../client/output.ts'
import { facts } from '../client/printed.ts'
import { type RunWithAttempts, runText, tookWords } from '../client/run-words.ts'
import type { Server } from '../client/server.ts'
import { stateWords } from '../client/state-words.ts'
import { exitCodeOf, waitForRun } from '../client/wait.ts'
import { onStdout as c } from '../terminal.ts'

export async function showRun(id: string, flags: ClientFlags): Promise<void> {
  const server = serverFrom(flags)
  const run = await server.get<RunWithAttempts>(await pathOf(server, id))
  give(run, flags, () => runText(run, server))
}

export async function cancelRun(id: string, flags: ClientFlags): Promise<void> {
  const server = serverFrom(flags)
  const run = await server.post<RunWithAttempts>(`${await pathOf(server, id)}/cancel`)
  const words = run.endedAt === null ? 'is being cancelled by its worker' : 'cancelled'
  give(run, flags, () => `${c.green('✓')} run ${run.id} ${words}\n`)
}

type WaitFlags = ClientFlags & { readonly wait?: boolean }

export async function retryRun(id: string, flags: WaitFlags): Promise<void> {
  const server = serverFrom(flags)
  const run = await server.post<Run>(`${await pathOf(server, id)}/retry`, undefined, {
    'idempotency-key': randomUUID(),
  })
  await giveNewRun(server, run, 'rerun created', flags)
}

export const pathOf = async (server: Server, id: string) =>
  `/v1/runs/${encodeURIComponent(await findRunId(server, id))}`

/** Prints a run that was just requested and, with `--wait`, how it ended. */
export async function giveNewRun(server: Server, run: Run, words: string, flags: WaitFlags): Promise<void> {
  const isForPeople = !flags.json && flags.field === undefined
  const see: [string, string][] = [
    ['see', `belfry run show ${run.id}`],
    ['page', `${server.url}/runs/${run.id}`],
  ]
  if (!flags.wait) return give(run, flags, () => `${c.green('✓')} ${words}: run ${run.id}\n${facts(see)}`)
  if (isForPeople) write(`${c.green('✓')} ${words}: run ${run.id}\n`)
  const tell = isForPeople ? write : remark
  const ended = await waitForRun(server, run.id, tell)
  process.exitCode = exitCodeOf(ended)
  give(ended, flags, () => `${endWords(ended)}\n${facts(see)}`)
}

function endWords(run: RunWithAttempts): string {
  const attempts = run.attempts.length === 1 ? '' : ` after ${run.attempts.length} attempts`
  const outcome = printable(outcomeWords(run))
  return `${stateWords(run.state, run.reason)}${attempts}  ${tookWords(run)}${outcome === '' ? '' : `  ${outcome}`}`
}
