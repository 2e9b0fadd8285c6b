/**
 * Server-sent events, one at a time for as long as the caller iterates. After a connection is lost or silent, the client
 * reconnects, to any node, and continues after the last event received.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { CliError, EXIT } from '../exit.ts'
import { RefusedError } from './problem.ts'
import type { Server } from './server.ts'

/** The server sends something every 15 seconds; after three times that long, the connection is considered lost. */
const SILENT_MS = 45_000
const FIRST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 15_000
/** Larger than any event: a server that sends a larger one is not Belfry. */
const MAX_EVENT_CHARACTERS = 4 * 1024 * 1024

/** One event as received. */
export interface ServerEvent {
  readonly event: string
  readonly data: string
  /** The id to resume after. */
  readonly id: string
}

export interface FollowOptions {
  /** Called when a connection is lost, with the delay before the next attempt. */
  readonly onLost: (error: unknown, againMs: number) => void
}

/** Yields events indefinitely. Throws only if the first connection fails or the server rejects the request permanently. */
export async function* follow(
  server: Server,
  path: string,
  { onLost }: FollowOptions,
): AsyncGenerator<ServerEvent> {
  let lastId: string | null = null
  let isKnown = false
  for (let againMs = FIRST_PAUSE_MS; ; againMs = Math.min(againMs * 2, LONGEST_PAUSE_MS)) {
    try {
      for await (const event of connection(server, path, lastId)) {
        isKnown = true
        againMs = FIRST_PAUSE_MS
        if (event.id !== '') lastId = event.id
        if (event.event !== '') yield event
      }
      onLost(null, againMs)
    } catch (error) {
      if (!isKnown || isFinal(error)) throw error
      onLost(error, againMs)
    }
    await pause(againMs)
  }
}

/** Status codes below 500 that are temporary: too slow, and too many requests or streams. */
const PASSING: readonly number[] = [408, 425, 429]

/** Whether the same request would be rejected again: the key expired, the role was removed, or the followed object is gone. */
function isFinal(error: unknown): boolean {
  if (!(error instanceof RefusedError)) return error instanceof CliError && error.exitCode === EXIT.usage
  const { status } = error.problem
  return status < 500 && !PASSING.includes(status)
}

async function* connection(server: Server, path: string, lastId: string | null): AsyncGenerator<ServerEvent> {
  const silence = new AbortController()
  const timer = setTimeout(() => silence.abort(), SILENT_MS)
  try {
    const answer = await server.open(path, {
      signal: silence.signal,
      headers: { accept: 'text/event-stream', ...(lastId === null ? {} : { 'last-event-id': lastId }) },
    })
    // The stream has ended on the server before this client received the end event.
    if (answer.status === 204) yield { event: 'end', data: '{"reason":"ended"}', id: '' }
    if (!answer.isOk) await server.read(answer)
    const decoder = new TextDecoder()
    let text = ''
    for await (const chunk of answer.bytes()) {
      timer.refresh()
      const parts = (text + decoder.decode(chunk, { stream: true })).split('\n\n')
      text = parts.pop() ?? ''
      if (text.length > MAX_EVENT_CHARACTERS) throw new Error('an event exceeds the maximum size')
      for (const part of parts) yield eventOf(part)
    }
  } finally {
    clearTimeout(timer)
    silence.abort()
  }
}

function eventOf(part: string): ServerEvent {
  const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(part)?.[1] ?? ''
  return { event: field('event'), data: field('data'), id: field('id') }
}
