/**
 * Normalises `X-Forwarded-For`. Some proxies add ports and brackets, which are removed here, because addresses are compared
 * with networks and used as keys of counters. An entry that is not an address, and everything before it, is ignored, because no
 * trusted proxy has confirmed it.
 */
import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import type { App } from '../app.ts'

const HEADER = 'x-forwarded-for'
/** `[2001:db8::1]`, with or without a port, and an IPv4 address with one. */
const BRACKETED = /^\[([^\]]+)\](?::\d{1,5})?$/
const WITH_PORT = /^([\d.]+):\d{1,5}$/

/** Must be called before the server takes its first request. */
export function readForwardedFor(app: App): void {
  app.server.prependListener('request', ({ headers }: IncomingMessage) => {
    const given = headers[HEADER]
    if (given !== undefined) headers[HEADER] = addressesIn(String(given))
  })
}

/** Returns the addresses at the end of the header, which the nearest proxies have added. */
export function addressesIn(header: string): string {
  const entries = header.split(',').map((entry) => addressOf(entry.trim()))
  return entries.slice(entries.lastIndexOf(null) + 1).join(', ')
}

function addressOf(entry: string): string | null {
  const address = BRACKETED.exec(entry)?.[1] ?? WITH_PORT.exec(entry)?.[1] ?? entry
  return isIP(address) === 0 || address.includes('%') ? null : address
}
