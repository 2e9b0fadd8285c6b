/**
 * How the messages of each project are sent: by which sender and through which server, with the values of the secrets that its
 * mail settings refer to. A project without a server uses that of the installation. A project's own server is subject to the
 * same network restrictions as its other calls.
 */
import { createHash } from 'node:crypto'
import type { AddressPolicy } from '../../core/action/address.ts'
import {
  type FilledMail,
  filledMail,
  type MailSettings,
  mailSecretsOf,
} from '../../core/action/mail-settings.ts'
import type { SmtpServer } from '../../core/action/smtp-url.ts'
import type { Outcome } from '../../core/run/outcome.ts'
import { UnusableSecret } from '../../core/secret/filled-action.ts'
import type { Redactor } from '../../core/secret/redactor.ts'
import { judgeOf } from '../../outgoing/address-guard.ts'
import type { NameResolver } from '../../outgoing/names/name-resolver.ts'
import type { OwnPorts } from '../../outgoing/own-ports.ts'
import { type ProjectNetworks, SettingsUnread } from '../../outgoing/project-networks.ts'
import { secretFailure, UNREAD, unusable } from '../../secrets/secret-outcomes.ts'
import type { Vault } from '../../secrets/vault.ts'
import { SmtpPool } from './smtp-pool.ts'

/** How to send a message of a project. */
export type Mailbox =
  | {
      readonly ok: true
      readonly from: string | null
      readonly replyTo: string | null
      /** Null for the server of the installation. */
      readonly pool: SmtpPool | null
      /** Redacts the values of secrets from what is reported about the message. */
      readonly redactor: Redactor
    }
  | { readonly ok: false; readonly outcome: Outcome }

/** The fields that a message sets itself instead of using those of its project. */
export interface OwnSender {
  readonly from?: string | undefined
  readonly replyTo?: string | undefined
}

export interface MailboxesOptions {
  settingsOf(projectId: string): Promise<MailSettings | undefined>
  readonly vault: Pick<Vault, 'read' | 'redactorOf'>
  readonly policy: AddressPolicy
  readonly networks: ProjectNetworks
  readonly own: OwnPorts
  readonly resolver: NameResolver
}

/** When there are more pools than this, those without connections are removed. */
const MAX_IDLE_POOLS = 100

export class Mailboxes {
  readonly #options: MailboxesOptions
  readonly #pools = new Map<string, SmtpPool>()

  constructor(options: MailboxesOptions) {
    this.#options = options
  }

  async of(projectId: string, own: OwnSender): Promise<Mailbox> {
    try {
      return await this.#mailboxOf(projectId, own)
    } catch (error) {
      if (error instanceof UnusableSecret) return { ok: false, outcome: unusable(error) }
      if (error instanceof SettingsUnread) return { ok: false, outcome: unread(error) }
      throw error
    }
  }

  async #mailboxOf(projectId: string, own: OwnSender): Promise<Mailbox> {
    const stored = await this.#options.settingsOf(projectId).catch((cause) => {
      throw new SettingsUnread(cause)
    })
    const settings = {
      mailFrom: own.from === undefined ? (stored?.mailFrom ?? null) : null,
      mailReplyTo: own.replyTo === undefined ? (stored?.mailReplyTo ?? null) : null,
      mailServer: stored?.mailServer ?? null,
    }
    const { vault } = this.#options
    const names = mailSecretsOf(settings)
    const read = names.length === 0 ? NOTHING : await vault.read(projectId, names).catch(() => UNREAD)
    if (!read.ok) return { ok: false, outcome: secretFailure(read) }
    const filled = filledMail(settings, (name) => read.values.get(name) ?? '')
    return {
      ok: true,
      ...(await this.#leaving(projectId, filled)),
      redactor: vault.redactorOf(read.values),
    }
  }

  /** Closes every connection at once. */
  close(): void {
    for (const pool of this.#pools.values()) pool.close()
  }

  async #leaving(projectId: string, { from, replyTo, server }: FilledMail) {
    return { from, replyTo, pool: server && (await this.#poolOf(projectId, server)) }
  }

  /** A new password, server or network restriction gets new connections; the previous ones are closed when they are idle. */
  async #poolOf(projectId: string, server: SmtpServer): Promise<SmtpPool> {
    const { policy, networks, own, resolver } = this.#options
    const confinement = await networks.of(projectId)
    const key = createHash('sha256')
      .update(JSON.stringify([projectId, server, confinement?.key ?? null]))
      .digest('base64')
    const known = this.#pools.get(key)
    if (known) return known
    this.#sweep()
    const onlyNetworks = confinement?.networks
    const judge = judgeOf(server.port, { ...policy, onlyNetworks }, own)
    const made = new SmtpPool({ server, resolver, judge })
    this.#pools.set(key, made)
    return made
  }

  #sweep(): void {
    if (this.#pools.size < MAX_IDLE_POOLS) return
    for (const [key, pool] of this.#pools) if (pool.connections === 0) this.#pools.delete(key)
  }
}

const unread = ({ message }: SettingsUnread): Outcome => ({
  kind: 'failed',
  retryable: true,
  error: { code: 'settings_unavailable', message },
})

const NOTHING = { ok: true, values: new Map<string, string>() } as const
