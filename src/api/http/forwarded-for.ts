/**
 * Whom a proxy names in `X-Forwarded-For`. Some proxies add ports and brackets, which are left out here: addresses are
 * compared with networks and counted by. What is no address at all, and everything that stands before it, is not
 * looked at: nobody vouches for it.
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

/** The addresses at the end of the header, which the proxies that are nearest have added. */
export function addressesIn(header: string): string {
  const entries = header.split(',').map((entry) => addressOf(entry.trim()))
  return entries.slice(entries.lastIndexOf(null) + 1).join(', ')
}

function addressOf(entry: string): string | null {
  const address = BRACKETED.exec(entry)?.[1] ?? WITH_PORT.exec(entry)?.[1] ?? entry
  return isIP(address) === 0 || address.includes('%') ? null : address
}
