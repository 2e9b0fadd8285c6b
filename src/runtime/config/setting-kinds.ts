/** Kinds of settings with their own rules: paths, addresses, networks, labels, keys. */

import { MIN_ADMIN_KEY_CHARACTERS } from '../../core/access/api-key.ts'
import { notPrivate } from '../../core/action/address.ts'
import { parseEmailAddress } from '../../core/action/email-address.ts'
import { parseSmtpUrl } from '../../core/action/smtp-url.ts'
import { isOwnLabel, OWN_LABEL_RULE } from '../../core/run/own-labels.ts'
import { parseKeyRing } from '../../core/secret/key-ring.ts'
import { type Network, networkText, parseNetwork } from '../../core/values/network.ts'
import { ROLES, type Role } from './choices.ts'
import { fail, listed, type Setting, text } from './setting.ts'

/** A list of absolute paths without `.` and `..`. */
export const paths = (help: string, mayHaveStars = false): Setting<readonly string[]> => ({
  default: [],
  help,
  parse: (value) => {
    const given = listed(value)
    if (!Array.isArray(given)) return fail('must be a list of absolute paths, such as /usr/bin/rsync')
    for (const path of given)
      if (typeof path !== 'string' || !PLAIN_PATH.test(path) || /\/\.{1,2}(\/|$)/.test(path))
        fail(`contains '${String(path)}'; write absolute paths such as /usr/bin/rsync, without . and ..`)
      else if (path.slice(0, path.lastIndexOf('/')).includes('*') || (!mayHaveStars && path.includes('*')))
        fail(
          `contains '${path}'; ${mayHaveStars ? 'only the last part of a path may contain *' : 'stars are not allowed here'}`,
        )
    return [...new Set<string>(given)]
  },
})
const PLAIN_PATH = /^(\/[^/\s,]+)+$/

/** Percent signs must begin an escape, because the password is decoded. An empty host stands for a local socket. */
const DATABASE_URL = /^postgres(ql)?:\/\/([^%\s]|%[0-9a-f]{2})*$/i

/**
 * Finds a character that must be escaped in a password. Unescaped it would end the password, so that the URL has a different
 * host.
 */
function unescapedPassword(url: string): string | null {
  const userInfo = /^[a-z][a-z0-9+.-]*:\/\/(.*)@/i.exec(url)?.[1] ?? ''
  const character = /[/?#@\s]/.exec(userInfo)?.[0]
  if (character === undefined) return null
  const escaped = `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`
  return `contains '${character}' in its user name or password; write it as ${escaped}`
}

export const databaseAddress = (help: string): Setting<string | null> => ({
  ...text(help),
  parse: (value) => {
    if (typeof value !== 'string') return fail('must have the form postgresql://user@host/belfry')
    const secret = unescapedPassword(value)
    if (secret !== null) fail(secret)
    return DATABASE_URL.test(value) ? value : fail('must have the form postgresql://user@host/belfry')
  },
})

export const roles: Setting<readonly Role[]> = {
  default: ROLES,
  help: 'Roles of this node: api, scheduler, worker, liveness',
  parse: (value) => {
    const names = listed(value)
    if (!Array.isArray(names) || names.length === 0) return fail(`must be a list of ${ROLES.join(', ')}`)
    for (const name of names)
      if (!ROLES.includes(name)) fail(`contains '${String(name)}'; the roles are ${ROLES.join(', ')}`)
    return ROLES.filter((role) => names.includes(role))
  },
}

const LABEL = /^[^\s,]{1,100}$/
export const labels: Setting<readonly string[]> = {
  default: [],
  help: 'Labels that tasks can require of this worker, such as gpu,eu',
  parse: (value) => {
    const names = listed(value)
    if (!Array.isArray(names) || !names.every((name) => typeof name === 'string' && LABEL.test(name))) {
      return fail('must be a list of labels without spaces, such as gpu,eu')
    }
    const own = names.find(isOwnLabel)
    if (own !== undefined) fail(`contains '${own}'; a label ${OWN_LABEL_RULE}`)
    return [...new Set<string>(names)]
  },
}

/** Whether a value is an origin as browsers write it: no path, no final slash, and no port if it is the default of the scheme. */
const isOrigin = (value: unknown): boolean =>
  typeof value === 'string' &&
  /^https?:/.test(value) &&
  URL.canParse(value) &&
  new URL(value).origin === value

export const adminKey: Setting<string | null> = {
  default: null,
  help: 'API key with the role admin, for containers; at least 32 characters',
  parse: (value) =>
    typeof value === 'string' && value.length >= MIN_ADMIN_KEY_CHARACTERS && /^[\x21-\x7e]*$/.test(value)
      ? value
      : fail(`must be at least ${MIN_ADMIN_KEY_CHARACTERS} visible ASCII characters`),
}

export const allowedOrigins: Setting<readonly string[]> = {
  default: [],
  help: 'Origins whose pages may send requests, such as https://belfry.example.com',
  parse: (value) => {
    const origins = listed(value)
    if (!Array.isArray(origins) || !origins.every(isOrigin))
      return fail('must be a list of origins without a path, such as https://belfry.example.com')
    return [...new Set<string>(origins)]
  },
}

/** Addresses and networks, kept as text, which the code that uses them parses again. */
export const networks = (help: string): Setting<readonly string[]> => ({
  default: [],
  help,
  parse: (value) => {
    const given = listed(value)
    if (!Array.isArray(given)) return fail('must be a list of networks, such as 10.1.0.0/16')
    return [...new Set<string>(given.map(networkOf))]
  },
})

export const privateNetworks = (help: string): Setting<readonly string[]> => ({
  ...networks(help),
  parse: (value) => {
    const given = networks('').parse(value)
    for (const text of given) {
      const problem = notPrivate(parseNetwork(text) as Network)
      if (problem !== null) fail(`contains a network that cannot be allowed: ${problem}`)
    }
    return given
  },
})

function networkOf(value: unknown): string {
  const network = typeof value === 'string' ? parseNetwork(value) : null
  if (network !== null) return networkText(network)
  return fail(`contains '${String(value)}'; write addresses or networks such as 10.1.2.3 and 10.1.0.0/16`)
}

export const origin = (help: string): Setting<string | null> => ({
  ...text(help),
  parse: (value) =>
    isOrigin(value)
      ? (value as string)
      : fail('must be an address without a path, such as https://belfry.example.com'),
})

/** A text that is never empty. */
export const required = (fallback: string, help: string): Setting<string> => ({
  default: fallback,
  help,
  parse: (value) => text('').parse(value) as string,
})

/** A text that one of core's parsers accepts. */
const accepted = (
  help: string,
  read: (value: string) => { readonly ok: true } | { readonly ok: false; readonly reason: string },
): Setting<string | null> => ({
  ...text(help),
  parse: (value) => {
    const parsed = typeof value === 'string' ? read(value) : null
    return parsed?.ok ? (value as string) : fail(parsed?.reason ?? 'must be a string')
  },
})

export const mailServer = (help: string) =>
  accepted(help, (value) => {
    const reason = unescapedPassword(value)
    return reason === null ? parseSmtpUrl(value) : { ok: false, reason }
  })
export const mailSender = (help: string) => accepted(help, parseEmailAddress)
export const keyRing = (help: string) => accepted(help, parseKeyRing)
