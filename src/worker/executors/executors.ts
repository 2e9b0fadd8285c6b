import type { Action, ExecAction, HandlerAction } from '../../core/action/action.ts'
import type { Outcome } from '../../core/run/outcome.ts'
import { HttpClient, type HttpClientOptions } from '../../outgoing/http-client.ts'
import { NameResolver } from '../../outgoing/names/name-resolver.ts'
import { OwnPorts } from '../../outgoing/own-ports.ts'
import { UNCONFINED } from '../../outgoing/project-networks.ts'
import type { Signer } from '../../outgoing/signer.ts'
import type { AttemptContext, Executor } from '../executor.ts'
import { createEmailExecutor } from './email.ts'
import { createHttpExecutor } from './http.ts'
import { Mailboxes, type MailboxesOptions } from './mailboxes.ts'
import { createSlackExecutor } from './slack.ts'
import { sleep } from './sleep.ts'
import { SmtpPool, type SmtpPoolOptions } from './smtp-pool.ts'

export interface ExecutorsOptions {
  /** Where tasks may connect to, mail servers included, and how names are resolved. Metadata services stay out of reach. */
  readonly http: HttpClientOptions
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

export function createExecutors(options: ExecutorsOptions): Executors {
  const { userAgent, signer, mail, exec, projectMail } = options
  const { own = new OwnPorts(), resolver = new NameResolver() } = options.http
  const client = new HttpClient({ ...options.http, own, resolver })
  const http = createHttpExecutor({ client, userAgent, signer })
  const slack = createSlackExecutor({ client, userAgent })
  const pool = mail && new SmtpPool({ ...mail, resolver })
  const { allowPrivate, allowedNetworks, projectNetworks: networks = UNCONFINED } = options.http
  const mailboxes = new Mailboxes({
    ...projectMail,
    policy: { allowPrivate, allowedNetworks },
    networks,
    own,
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
