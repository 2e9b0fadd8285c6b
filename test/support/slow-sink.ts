import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

export interface Delivery {
  readonly receivedAt: number
  /** Null while it was never answered: its sender went away, or still waits. */
  answeredAt: number | null
  readonly messageId: string
  readonly taskId: string
  readonly fence: number
  readonly attempt: number
}

/** A real HTTP server that takes its time, and notes each delivery before and after it answers. */
export async function startSlowSink(answerAfterMs: (count: number) => number) {
  const deliveries: Delivery[] = []
  const server = createServer((incoming, response) => {
    const header = (name: string) => String(incoming.headers[name] ?? '')
    incoming.resume().once('end', () => {
      const delivery: Delivery = {
        receivedAt: Date.now(),
        answeredAt: null,
        messageId: header('webhook-id'),
        taskId: header('belfry-task-id'),
        fence: Number(header('belfry-fence')),
        attempt: Number(header('belfry-attempt')),
      }
      deliveries.push(delivery)
      setTimeout(() => {
        if (response.destroyed) return
        delivery.answeredAt = Date.now()
        response.writeHead(200).end()
      }, answerAfterMs(deliveries.length))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, deliveries }
}
