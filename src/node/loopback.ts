import { isIPv4 } from 'node:net'
import type { Config } from '../runtime/config/settings.ts'

/** Whether a host to listen on is reachable from this machine alone. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'))
}

type Listening = Pick<Config, 'host' | 'publicUrl' | 'trustedProxies'>

/** Whether nobody but the users of this machine can send requests, as far as settings tell: a proxy on it lets others in. */
export const isForThisMachine = (config: Listening): boolean =>
  isLoopback(config.host) && proxyOf(config) === null

/** The setting that tells of a proxy that lets others in; null without one. */
export function proxyOf({ publicUrl, trustedProxies }: Listening): string | null {
  if (publicUrl !== null && !isLoopback(hostOf(publicUrl))) return `--public-url ${publicUrl}`
  return trustedProxies.length > 0 ? '--trusted-proxies' : null
}

const hostOf = (url: string): string => new URL(url).hostname.replace(/^\[|\]$/g, '')
