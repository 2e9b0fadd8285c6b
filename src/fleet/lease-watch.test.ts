import { once } from 'node:events'
import { createConnection, createServer, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { LeaseWatch, monotonicMs } from './lease-watch.ts'

/** Two ends of a connection. */
async function aPipe(): Promise<[Socket, Socket]> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const accepted = once(server, 'connection') as Promise<[Socket]>
  const client = createConnection((server.address() as { port: number }).port, '127.0.0.1')
  const [other] = await accepted
  onTestFinished(() => {
    client.destroy()
    other.destroy()
    server.close()
  })
  return [client, other]
}

const turn = () => new Promise(setImmediate)

test('a renewal that arrived while the process was busy is read before the lease ends', async () => {
  const [worker, runner] = await aPipe()
  let isOver = false
  const watch = new LeaseWatch(() => {
    isOver = true
  })
  const heard = once(runner, 'data').then(() => watch.renew(monotonicMs() + 60_000))
  const until = monotonicMs() + 20
  watch.renew(until)

  worker.write('still yours')
  while (monotonicMs() < until + 20);
  await heard
  await turn()
  await turn()

  expect(isOver).toBe(false)
  watch.end()
})

test('a renewal that is read after its end does not extend the lease', async () => {
  const over = new Promise<void>((resolve) => new LeaseWatch(resolve).renew(monotonicMs() - 1))

  await over
})
