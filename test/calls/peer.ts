/** Programs at the other end, each a process of its own that tells its parent what happens to it. */
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { whenDone } from '../support/cleanup.ts'
import { eventually } from '../support/eventually.ts'

export interface Peer<Told> {
  readonly port: number
  /** All that it has told, in order. */
  readonly told: readonly Told[]
  /** Says something to it, and waits until it has told that it heard. */
  say(message: object): Promise<void>
}

/** What a receiver tells of a request. */
export interface Received {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** For each secret of the receiver, whether it verifies. */
  readonly verified: readonly boolean[]
}

/** Starts a program of this folder and waits until it has told its port; it ends with the test. */
export async function startPeer<Told extends object>(
  file: string,
  args: readonly string[] = [],
): Promise<Peer<Told>> {
  const told: Told[] = []
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), [...args], { execArgv: [] })
  let heard = 0
  const port = new Promise<number>((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`${file} ended with ${code}`)))
    child.on('message', (message: Told | { port: number } | { heard: true }) => {
      if ('port' in message) resolve(message.port)
      else if ('heard' in message) heard++
      else told.push(message)
    })
  })
  whenDone(() => child.kill('SIGKILL'))
  return {
    port: await port,
    told,
    say: async (message) => {
      const before = heard
      child.send(message)
      await eventually(async () => heard > before)
    },
  }
}
