import { isIPv4 } from 'node:net'
import type { Config } from '../runtime/config/settings.ts'

/** Whether a host to listen on is reachable only from this machine. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'))
}

type Listening = Pick<Config, 'host' | 'publicUrl' | 'trustedProxies'>

/** Whether only the users of this machine can send requests, as far as the settings show: a proxy would let others in. */
export const isForThisMachine = (config: Listening): boolean =>
  isLoopback(config.host) && proxyOf(config) === null

/** Returns the setting that indicates a proxy which lets others in; null if there is none. */
export function proxyOf({ publicUrl, trustedProxies }: Listening): string | null {
  if (publicUrl !== null && !isLoopback(hostOf(publicUrl))) return `--public-url ${publicUrl}`
  return trustedProxies.length > 0 ? '--trusted-proxies' : null
}

const hostOf = (url: string): string => new URL(url).hostname.replace(/^\[|\]$/g, '')
