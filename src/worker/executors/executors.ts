import type { Action, ExecAction, HandlerAction } from '../../core/action/action.ts'
import type { Outcome } from '../../core/run/outcome.ts'
import type { Network } from '../../core/values/network.ts'
import { HttpClient } from '../../outgoing/http-client.ts'
import { NameResolver } from '../../outgoing/names/name-resolver.ts'
import { OwnPorts } from '../../outgoing/own-ports.ts'
import { type ProjectNetworks, UNCONFINED } from '../../outgoing/project-networks.ts'
import type { Signer } from '../../outgoing/signer.ts'
import type { AttemptContext, Executor } from '../executor.ts'
import { createEmailExecutor } from './email.ts'
import { createHttpExecutor } from './http.ts'
import { Mailboxes, type MailboxesOptions } from './mailboxes.ts'
import { createSlackExecutor } from './slack.ts'
import { sleep } from './sleep.ts'
import { SmtpPool, type SmtpPoolOptions } from './smtp-pool.ts'

export interface ExecutorsOptions {
  /** Whether tasks may reach loopback and private networks. Metadata services stay out of reach. */
  readonly allowPrivateAddresses: boolean
  /** Networks that tasks may reach even if private addresses are otherwise not allowed. */
  readonly allowedNetworks?: readonly Network[]
  /** The projects' restrictions of these networks. */
  readonly projectNetworks?: ProjectNetworks
  /** The ports that this process itself listens on, which tasks must not call. */
  readonly ownPorts?: OwnPorts
  /** Shared with all other code in this process that resolves names. */
  readonly resolver?: NameResolver
  /** Maximum connections per target: as many as calls, which are limited elsewhere. */
  readonly connectionsPerOrigin?: number
  readonly idleConnections?: number
  /** Sent as `user-agent`, such as `belfry/1.0.0`. */
  readonly userAgent: string
  /** Signs the requests of projects that have secrets. */
  readonly signer: Signer
  /** The mail server of the installation and its default sender; null if there is none. */
  readonly mail: MailOptions | null
  /** Runs programs. */
  readonly exec: Executor<ExecAction>
  /** The mail settings of projects, and the secrets in them. */
  readonly projectMail: Pick<MailboxesOptions, 'settingsOf' | 'vault'>
}

/** How the installation sends email. */
export interface MailOptions extends SmtpPoolOptions {
  readonly from: string | null
}

/** All executors of a worker behind one interface; they share one HTTP client. */
export interface Executors extends Executor {
  close(): Promise<void>
}

export function createExecutors({
  allowPrivateAddresses,
  allowedNetworks,
  projectNetworks = UNCONFINED,
  ownPorts = new OwnPorts(),
  resolver = new NameResolver(),
  connectionsPerOrigin,
  idleConnections,
  userAgent,
  signer,
  mail,
  exec,
  projectMail,
}: ExecutorsOptions): Executors {
  const client = new HttpClient({
    allowPrivate: allowPrivateAddresses,
    allowedNetworks,
    projectNetworks,
    own: ownPorts,
    resolver,
    connectionsPerOrigin,
    idleConnections,
  })
  const http = createHttpExecutor({ client, userAgent, signer })
  const slack = createSlackExecutor({ client, userAgent })
  const pool = mail && new SmtpPool({ ...mail, resolver })
  const mailboxes = new Mailboxes({
    ...projectMail,
    policy: { allowPrivate: allowPrivateAddresses, allowedNetworks },
    networks: projectNetworks,
    own: ownPorts,
    resolver,
  })
  const email = createEmailExecutor({ pool, defaultFrom: mail?.from ?? null, mailboxes })

  return {
    execute(action: Action, context: AttemptContext): Promise<Outcome> {
      switch (action.type) {
        case 'ping':
        case 'webhook':
        case 'http':
          return http.execute(action, context)
        case 'slack':
          return slack.execute(action, context)
        case 'email':
          return email.execute(action, context)
        case 'sleep':
          return sleep(action, context)
        case 'handler':
          return notOurs(action)
        case 'exec':
          return exec.execute(action, context)
        default:
          return action satisfies never
      }
    },
    close: async () => {
      await email.close?.()
      await client.close()
    },
  }
}

/**
 * Runs of handlers wait in lanes that only remote workers serve. If one gets here, it is retried until a worker that offers the
 * handler takes it.
 */
const notOurs = async ({ name }: HandlerAction): Promise<Outcome> => ({
  kind: 'failed',
  retryable: true,
  error: {
    code: 'executor_failed',
    message: `The handler '${name}' runs only in workers that provide it.`,
  },
})
