/** Checks in advance whether any worker can run a program: without one, the runs of the task wait. */
import type { Node } from '../../api/resources/nodes/schemas.ts'
import { onStdout as c } from '../terminal.ts'
import { theLabels } from './label-words.ts'
import type { Server } from './server.ts'

/** Requirements of a task on a worker. */
export interface ProgramNeeds {
  /** Null for an uploaded program. */
  readonly command: string | null
  readonly labels: readonly string[]
}

/** Returns the workers that currently run programs. */
export async function programWorkers(server: Server): Promise<readonly NonNullable<Node['programs']>[]> {
  const { items } = await server.get<{ items: readonly Node[] }>('/v1/workers')
  return items.flatMap(({ state, programs }) => (state === 'dead' || programs === null ? [] : [programs]))
}

/** Returns a sentence about what is missing; null if a worker can run the program. */
export function missingWorker(
  workers: readonly NonNullable<Node['programs']>[],
  { command, labels }: ProgramNeeds,
): string | null {
  const able = workers.filter((worker) => labels.every((label) => worker.labels.includes(label)))
  if (able.some(({ commands }) => command === null || commands.includes(command))) return null
  const who = `No worker${labels.length === 0 ? '' : ` with ${theLabels(labels)}`}`
  return command === null
    ? `${who} currently runs programs. To see why: belfry doctor on the machine of a worker. To allow programs: --exec on.`
    : `${who} currently runs ${command}. The operator of a worker must allow it: --exec on --exec-commands ${command}.`
}

/** Formats the sentence as a line below the result. */
export const missingNote = (missing: string | null): string =>
  missing === null ? '' : `${c.yellow('!')} ${missing} Until then its runs wait.\n`
