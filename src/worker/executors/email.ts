/**
 * Performs `email`: one message to all its recipients, through the mail server of its project or that of the installation.
 *
 * The server's reply decides: 4xx is temporary, 5xx is permanent. A message that the server accepted for some recipients only
 * has failed permanently, and the failure names the others: sending it again would reach the accepted recipients twice. All
 * attempts of a run use one Message-ID, so that a mailbox can recognise a duplicate.
 */
import { domainToASCII } from 'node:url'
import type { EmailAction } from '../../core/action/action.ts'
import { type EmailAddress, parseEmailAddress } from '../../core/action/email-address.ts'
import type { Outcome } from '../../core/run/outcome.ts'
import { Redactor } from '../../core/secret/redactor.ts'
import { keptText } from '../../core/values/kept-text.ts'
import { ForbiddenAddressError } from '../../outgoing/address-guard.ts'
import { isShortage } from '../../outgoing/shortage.ts'
import { redacted } from '../../secrets/secret-outcomes.ts'
import type { AttemptContext, Executor } from '../executor.ts'
import type { Mailboxes } from './mailboxes.ts'
import type { RefusedRecipient, SmtpError, SmtpPool, SmtpReceipt } from './smtp-pool.ts'

export interface EmailExecutorOptions {
  /** The mail server of the installation; null if none is configured. */
  readonly pool: SmtpPool | null
  /** The sender if neither the action nor its project names one. */
  readonly defaultFrom: string | null
  /** The mail settings of projects. */
  readonly mailboxes: Pick<Mailboxes, 'of' | 'close'>
}

/** Name under which the installation's password is redacted from the server's replies. */
const INSTALLATION_PASSWORD = 'of the mail server'

/** The executor of messages. It owns the connections to the mail server. */
export function createEmailExecutor({
  pool,
  defaultFrom,
  mailboxes,
}: EmailExecutorOptions): Executor<EmailAction> {
  const redactor = new Redactor(pool?.password ? [[INSTALLATION_PASSWORD, pool.password]] : [])
  return {
    async execute(action, context) {
      const mailbox = await mailboxes.of(context.projectId, action)
      if (!mailbox.ok) return mailbox.outcome
      const sender = { from: mailbox.from ?? defaultFrom, replyTo: mailbox.replyTo }
      const outcome = await send(withSender(action, sender), mailbox.pool ?? pool, context)
      return redacted(redacted(outcome, mailbox.redactor), redactor)
    },
    async close() {
      pool?.close()
      mailboxes.close()
    },
  }
}

async function send(action: EmailAction, pool: SmtpPool | null, context: AttemptContext): Promise<Outcome> {
  if (pool === null)
    return failed(
      'email_not_configured',
      'no mail server is configured for this worker; set mail.server of the project, or --smtp-url',
      false,
    )
  const addressed = addressesOf(action)
  if (typeof addressed === 'string') return failed('invalid_email', addressed, false)
  const { from, recipients } = addressed
  const messageId = `<${context.runId}@${domainOf(from)}>`
  const content = await compose(action, { addressed, messageId, context })
  try {
    const message = { from: from.address, to: recipients, content }
    return toOutcome(await pool.send(message, context.signal), messageId)
  } catch (error) {
    return toFailure(error as SmtpError, messageId)
  }
}

/** Default sender and reply address for an action that names none. */
interface Sender {
  readonly from: string | null
  readonly replyTo: string | null
}

function withSender(action: EmailAction, sender: Sender): EmailAction {
  const from = action.from ?? sender.from ?? undefined
  const replyTo = action.replyTo ?? sender.replyTo ?? undefined
  return {
    ...action,
    ...(from === undefined ? {} : { from }),
    ...(replyTo === undefined ? {} : { replyTo }),
  }
}

/** In ASCII, as headers require. */
const domainOf = ({ address }: EmailAddress) => domainToASCII(address.split('@')[1] ?? '') || 'belfry.invalid'

interface Addressed {
  readonly from: EmailAddress
  readonly to: readonly EmailAddress[]
  readonly cc: readonly EmailAddress[]
  readonly replyTo: EmailAddress | undefined
  /** All recipients, those of bcc included, each once. */
  readonly recipients: readonly string[]
}

/** Returns the sender and the recipients, or what is wrong with them. They were validated when the task was created. */
function addressesOf(action: EmailAction): Addressed | string {
  const { from: sender } = action
  if (sender === undefined)
    return 'the email has no sender; set from of the action, mail.from of the project, or --smtp-from'
  const texts = {
    from: [sender],
    to: list(action.to),
    cc: list(action.cc),
    bcc: list(action.bcc),
    replyTo: list(action.replyTo),
  }
  const read: Record<string, EmailAddress[]> = {}
  for (const [field, addresses] of Object.entries(texts)) {
    read[field] = []
    for (const text of addresses) {
      const parsed = parseEmailAddress(text)
      if (!parsed.ok) return `${field} ${parsed.reason}`
      read[field].push(parsed.value)
    }
  }
  const { to = [], cc = [], bcc = [] } = read
  return {
    from: read['from']?.[0] as EmailAddress,
    to,
    cc,
    replyTo: read['replyTo']?.[0],
    recipients: [...new Set([...to, ...cc, ...bcc].map(({ address }) => address))],
  }
}

const list = (value: string | readonly string[] | undefined): readonly string[] =>
  value === undefined ? [] : typeof value === 'string' ? [value] : value

interface Composing {
  readonly addressed: Addressed
  readonly messageId: string
  readonly context: AttemptContext
}

/** Composes the message as it is sent, without the bcc recipients. */
async function compose(
  { subject, text, html }: EmailAction,
  { addressed: { from, to, cc, replyTo }, messageId, context }: Composing,
): Promise<Buffer> {
  const { default: MailComposer } = await import('nodemailer/lib/mail-composer')
  const message = new MailComposer({
    from,
    to: [...to],
    cc: [...cc],
    ...(replyTo === undefined ? {} : { replyTo }),
    subject,
    ...(text === undefined ? {} : { text }),
    ...(html === undefined ? {} : { html }),
    messageId,
    headers: {
      'Auto-Submitted': 'auto-generated',
      'Belfry-Task-Id': context.taskId,
      'Belfry-Scheduled-For': new Date(context.scheduledFor).toISOString(),
      ...(context.tracingId === null ? {} : { 'Belfry-Tracing-Id': context.tracingId }),
    },
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  return message.compile().build()
}

function toOutcome({ accepted, refused, response }: SmtpReceipt, messageId: string): Outcome {
  const output = { messageId, accepted, refused: refused.map(shortened), response: short(response) }
  if (refused.length === 0) return { kind: 'completed', output }
  // Replies are not cut here: secrets that a cut splits are recognised only at the end of a text.
  const names = refused.map(({ address, response }) => `${address} (${response})`).join(', ')
  const message = `sent to ${accepted.length} of ${accepted.length + refused.length} recipients and will not be sent again; refused: ${names}`
  return { ...failed('recipients_refused', keptText(message, MAX_MESSAGE), false), output }
}

/** Maximum lengths of the server's replies and of messages in outcomes. */
const MAX_RESPONSE = 300
const MAX_MESSAGE = 2_000
const short = (response: string) => keptText(response, MAX_RESPONSE)
const shortened = ({ address, response }: RefusedRecipient) => ({ address, response: short(response) })

function toFailure(error: SmtpError, messageId: string): Outcome {
  const { code = '', responseCode, response, rejectedErrors = [] } = error
  const said = short(response ?? error.message)
  const detail = responseCode === undefined ? {} : { detail: { status: responseCode } }
  if (code === 'EAUTH') return answered('email_login_refused', `the mail server refused the login: ${said}`)
  if (rejectedErrors.length > 0) {
    const refused = rejectedErrors.map(({ recipient = '', response: why = '' }) => ({
      address: recipient,
      response: why,
    }))
    const isFinal = rejectedErrors.every((each) => (each.responseCode ?? 0) >= 500)
    return {
      ...failed('recipients_refused', `the mail server refused all recipients: ${said}`, !isFinal, detail),
      output: { messageId, accepted: [], refused: refused.map(shortened) },
    }
  }
  if (responseCode !== undefined)
    return answered('email_refused', `the mail server refused the message: ${said}`)
  if (code === 'EMESSAGE' || code === 'EENVELOPE') return failed('email_refused', said, false)
  if (isShortage(error))
    return failed(
      'worker_exhausted',
      'the worker ran out of sockets while connecting to the mail server',
      true,
    )
  if (error instanceof ForbiddenAddressError)
    return failed('forbidden_address', `the mail server is not allowed: ${error.message}`, false)
  if (code === 'ETLS')
    return failed('email_unreachable', `no secure connection to the mail server: ${said}`, true)
  return failed('email_unreachable', `the mail server cannot be reached: ${said}`, true)

  function answered(kind: string, message: string): Outcome {
    return failed(kind, message, (responseCode ?? 0) < 500, detail)
  }
}

const failed = (code: string, message: string, retryable: boolean, more: object = {}) =>
  ({ kind: 'failed', error: { code, message, ...more }, retryable }) as const
