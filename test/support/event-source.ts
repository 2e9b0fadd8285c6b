/** A client of server-sent events over a real socket, which gives access to the events received so far. */
import { whenDone } from './cleanup.ts'
import { eventually } from './eventually.ts'

export interface ReceivedEvent {
  readonly event: string
  readonly id: string
  // biome-ignore lint/suspicious/noExplicitAny: tests read what they expect, and fail where it is not there.
  readonly data: any
  readonly at: number
}

export interface EventSource {
  readonly status: number
  readonly headers: Headers
  readonly events: readonly ReceivedEvent[]
  /** Resolves when the server has ended the stream. */
  readonly ended: Promise<void>
  /** Resolves with the first event of this kind that is wanted, whether already received or still to come. */
  next(event: string, isWanted?: (data: ReceivedEvent['data']) => boolean): Promise<ReceivedEvent>
  close(): void
}

export async function openEvents(url: string, headers: Record<string, string> = {}): Promise<EventSource> {
  const aborter = new AbortController()
  const answer = await fetch(url, { headers, signal: aborter.signal })
  const events: ReceivedEvent[] = []
  const ended = (async () => {
    let text = ''
    for await (const chunk of answer.body ?? []) {
      text += Buffer.from(chunk).toString()
      const parts = text.split('\n\n')
      text = parts.pop() ?? ''
      for (const part of parts) {
        const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(part)?.[1]
        const [event, data] = [field('event'), field('data')]
        if (event === undefined || data === undefined) continue
        events.push({ event, id: field('id') ?? '', data: JSON.parse(data), at: performance.now() })
      }
    }
  })().catch((error: Error) => {
    if (!aborter.signal.aborted) throw error
  })
  const close = () => aborter.abort()
  whenDone(close)
  return {
    status: answer.status,
    headers: answer.headers,
    events,
    ended,
    next: (event, isWanted = () => true) =>
      eventually(async () => events.find((e) => e.event === event && isWanted(e.data))),
    close,
  }
}
