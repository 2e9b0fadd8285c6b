/**
 * The email settings of a project: the sender, the reply address, and the mail server. The sender, the reply address, the user
 * and the password can be secrets; the server cannot, because limits and the address guard apply to a host that is known.
 */
import { lineOf } from '../secret/filled-action.ts'
import { hasReference, isReference, namesIn, replaceReferences } from '../secret/secret-reference.ts'
import { readUrl } from '../values/read-url.ts'
import { neverReached } from './address.ts'
import { hasControlCharacters } from './email-address.ts'
import { parseSmtpUrl, type ReadSmtpUrl, type SmtpServer } from './smtp-url.ts'

/** The settings as they are stored. Null means the setting of the server. */
export interface MailSettings {
  readonly mailFrom: string | null
  readonly mailReplyTo: string | null
  /** Such as `smtp://shop:{{secret.SMTP_PASSWORD}}@mail.example.com:587`. */
  readonly mailServer: string | null
}

/** The settings for one message, with values in place of references. */
export interface FilledMail {
  readonly from: string | null
  readonly replyTo: string | null
  readonly server: SmtpServer | null
}

const WANTED =
  'must have the form smtp://user:{{secret.SMTP_PASSWORD}}@mail.example.com:587, or smtps:// for implicit TLS'

/** Parses the mail server of a project. References to secrets are kept. */
export function parseMailServer(text: string): ReadSmtpUrl {
  const read = parseSmtpUrl(text)
  if (!read.ok) return { ok: false, reason: WANTED }
  const { host, login } = read.server
  const url = readUrl(`http://${host.includes(':') ? `[${host}]` : host}/`)
  if (hasReference(host) || url === null || url.hostname.replace(/^\[|\]$/g, '') !== host.toLowerCase())
    return { ok: false, reason: `${WANTED}; its host must be a name or an address, and not a secret` }
  const kind = neverReached(url)
  if (kind !== undefined)
    return {
      ok: false,
      reason: `must not point to ${host}, which is ${kind}; connections to such addresses are always refused`,
    }
  if (login !== null && !isReference(login.password))
    return { ok: false, reason: `${WANTED}; its password must be a secret` }
  if (login !== null && (login.user === '' || hasControlCharacters(login.user)))
    return { ok: false, reason: `${WANTED}; its user must not be empty or contain control characters` }
  return read
}

/** The names of secrets that the settings refer to, in order and each once. */
export const mailSecretsOf = ({ mailFrom, mailReplyTo, mailServer }: MailSettings): readonly string[] =>
  namesIn([mailFrom ?? '', mailReplyTo ?? '', mailServer ?? ''])

/** Fills in the secrets. The settings were validated when they were stored; those that cannot be parsed count as not set. */
export function filledMail(
  { mailFrom, mailReplyTo, mailServer }: MailSettings,
  valueFor: (name: string) => string,
): FilledMail {
  const line = (place: string) => (name: string) => lineOf(name, valueFor(name), place)
  const fill = (text: string | null, place: string) => text && replaceReferences(text, line(place))
  const read = mailServer === null ? null : parseMailServer(mailServer)
  const server = read?.ok ? read.server : null
  return {
    from: fill(mailFrom, 'the sender of the project'),
    replyTo: fill(mailReplyTo, 'the reply address of the project'),
    server: server && { ...server, login: server.login && filledLogin(server.login) },
  }

  function filledLogin({ user, password }: NonNullable<SmtpServer['login']>) {
    const inLogin = line('the mail server of the project')
    return { user: replaceReferences(user, inLogin), password: replaceReferences(password, inLogin) }
  }
}
