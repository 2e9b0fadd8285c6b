/** Workers of the package and their runs, for the tests of this folder. */

import { type Handler, type HandlerContext, Worker, type WorkerOptions } from '../../src/sdk/worker.ts'
import { whenDone } from '../support/cleanup.ts'
import { eventually } from '../support/eventually.ts'
import type { TestNode } from '../support/node.ts'

let names = 0
/** A name that no other test uses. */
export const aName = () => `sdk-${++names}`

/** A worker that has registered with the server and is stopped when its test ends. */
export async function aWorker(
  server: string,
  handlers: Record<string, Handler<never>>,
  options: WorkerOptions = {},
): Promise<Worker> {
  const worker = new Worker({ server, log: () => {}, ...options })
  for (const [name, handler] of Object.entries(handlers)) worker.handle(name, handler)
  await worker.start()
  whenDone(() => worker.stop())
  return worker
}

/** The latest run of a task, with its attempts. */
export async function latestRun(node: TestNode, taskId: string) {
  const { body } = await node.request('GET', `/v1/tasks/${taskId}/runs`)
  const [run] = body.items
  return run ? (await node.request('GET', `/v1/runs/${run.id}`)).body : undefined
}

/** The same once it is as it should be. */
export const runWhen = (
  node: TestNode,
  taskId: string,
  isSo: (run: Awaited<ReturnType<typeof latestRun>>) => boolean,
) =>
  eventually(
    async () => {
      const run = await latestRun(node, taskId)
      return run && isSo(run) ? run : undefined
    },
    { otherwise: () => latestRun(node, taskId) },
  )

export const untilAborted = ({ signal }: HandlerContext) =>
  new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason))
  })
