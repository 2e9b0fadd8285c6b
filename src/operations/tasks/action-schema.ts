import { z } from 'zod'
import { HTTP_METHODS, MAX_REDIRECTS } from '../../core/action/action.ts'
import { hasControlCharacters, parseEmailAddress } from '../../core/action/email-address.ts'
import { isReservedHeader } from '../../core/action/reserved-headers.ts'
import { parseWantedUrl } from '../../core/action/target-url.ts'
import { isReference } from '../../core/secret/secret-reference.ts'
import { DAY_MS } from '../../core/values/time-units.ts'
import { durationBetween } from '../validation/values.ts'
import { ExecAction } from './exec-schema.ts'

const MAX_BODY_CHARACTERS = 256 * 1024
const MAX_URL_CHARACTERS = 4_096

const TargetUrl = z
  .string()
  .max(MAX_URL_CHARACTERS)
  .superRefine((text, context) => {
    const target = parseWantedUrl(text)
    if (!target.ok) context.addIssue({ code: 'custom', message: target.reason })
  })
  .meta({ format: 'uri', example: 'https://example.com/hook' })

/** Any value: it was parsed from JSON, so it can be sent as JSON. */
const Body = z
  .unknown()
  .refine(
    (body) => JSON.stringify(body).length <= MAX_BODY_CHARACTERS,
    `must not be larger than ${MAX_BODY_CHARACTERS} characters as JSON`,
  )
  .describe('Any JSON value. A string is sent unchanged, everything else as JSON.')

const HeaderName = z
  .string()
  .max(200)
  .regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, 'is not a valid header name')
  .refine((name) => !isReservedHeader(name), 'is set by Belfry and cannot be overridden')
/** A value, or the mask that responses show in place of a secret, which keeps the stored value. */
const HeaderValue = z
  .string()
  .max(8_192)
  .regex(
    /^([\t\x20-\x7e\x80-\xff]*|••••••)$/,
    'must not contain line breaks, other control characters, or characters outside Latin-1',
  )
  .describe('Responses show •••••• in place of a secret. Sending it back in an edit keeps the stored value.')

const Headers = z
  .record(HeaderName, HeaderValue)
  .refine((headers) => Object.keys(headers).length <= 50, 'must not contain more than 50 headers')

const expectRule = 'must be a status from 100 to 599 or a class such as "2xx"'
const ExpectedStatus = z.union(
  [z.int().min(100, expectRule).max(599, expectRule), z.string().regex(/^[1-5]xx$/, expectRule)],
  { error: expectRule },
)

export const PingAction = z
  .strictObject({ type: z.literal('ping'), url: TargetUrl })
  .describe('Sends a GET request.')
  .meta({ id: 'PingAction' })

export const WebhookAction = z
  .strictObject({ type: z.literal('webhook'), url: TargetUrl, body: Body.optional() })
  .describe('Sends the body as a POST request.')
  .meta({ id: 'WebhookAction' })

export const HttpAction = z
  .strictObject({
    type: z.literal('http'),
    url: TargetUrl,
    method: z.enum(HTTP_METHODS).default('GET'),
    headers: Headers.optional(),
    body: Body.optional(),
    expect: z.array(ExpectedStatus).min(1).max(20).optional(),
    followRedirects: z
      .int()
      .min(0)
      .max(MAX_REDIRECTS)
      .optional()
      .describe('Maximum number of redirects to follow. Default 0: a redirect counts as the response.'),
    connectTimeout: durationBetween(1, DAY_MS, 'from 1ms to 1d')
      .optional()
      .describe(
        'Time limit for a connection, including the wait for a free one in the pool. Default 10s for a new connection.',
      ),
    firstByteTimeout: durationBetween(1, DAY_MS, 'from 1ms to 1d')
      .optional()
      .describe('Time limit for the response headers. Default: the timeout of the task.'),
  })
  .describe('Sends an HTTP request.')
  .meta({ id: 'HttpAction' })

const SLACK_TEXT = 40_000
const SLACK_BLOCKS = 50

export const SlackAction = z
  .strictObject({
    type: z.literal('slack'),
    url: TargetUrl,
    text: z.string().min(1).max(SLACK_TEXT).optional(),
    blocks: z
      .array(z.record(z.string().max(200), z.unknown()))
      .min(1)
      .max(SLACK_BLOCKS)
      .refine(
        (blocks) => JSON.stringify(blocks).length <= MAX_BODY_CHARACTERS,
        `must not be larger than ${MAX_BODY_CHARACTERS} characters as JSON`,
      )
      .optional()
      .describe('Block Kit blocks. If given, `text` is the fallback for notifications.'),
  })
  .refine(({ text, blocks }) => text !== undefined || blocks !== undefined, {
    path: ['text'],
    message: 'is required unless blocks are given',
  })
  .describe('Sends a message to a Slack incoming webhook.')
  .meta({ id: 'SlackAction' })

const MAX_RECIPIENTS = 100

/** An address, or a reference to a secret that contains one, which is checked when the message is sent. */
export const Address = z
  .string()
  .max(500)
  .superRefine((text, context) => {
    const parsed = isReference(text) ? ({ ok: true } as const) : parseEmailAddress(text)
    if (!parsed.ok) context.addIssue({ code: 'custom', message: parsed.reason })
  })
  .meta({ example: 'Ada <ada@example.com>' })

/** One address, or a list of them. */
const Addresses = z.union([Address, z.array(Address).min(1).max(MAX_RECIPIENTS)])
const countOf = (addresses: string | readonly string[] | undefined) =>
  addresses === undefined ? 0 : typeof addresses === 'string' ? 1 : addresses.length

export const EmailAction = z
  .strictObject({
    type: z.literal('email'),
    to: Addresses.describe(`Up to ${MAX_RECIPIENTS} recipients, including cc and bcc.`),
    cc: Addresses.optional(),
    bcc: Addresses.optional(),
    from: Address.optional().describe('Default: the sender configured for the project or the server.'),
    replyTo: Address.optional(),
    subject: z
      .string()
      .min(1)
      .max(500)
      .refine(
        (text) => !hasControlCharacters(text),
        'must not contain line breaks or other control characters',
      ),
    text: z.string().min(1).max(MAX_BODY_CHARACTERS).optional(),
    html: z.string().min(1).max(MAX_BODY_CHARACTERS).optional(),
  })
  .refine(({ text, html }) => text !== undefined || html !== undefined, {
    path: ['text'],
    message: 'is required unless html is given',
  })
  .refine(({ to, cc, bcc }) => countOf(to) + countOf(cc) + countOf(bcc) <= MAX_RECIPIENTS, {
    path: ['to'],
    message: `must not contain more than ${MAX_RECIPIENTS} recipients, including cc and bcc`,
  })
  .describe('Sends an email through the configured mail server.')
  .meta({ id: 'EmailAction' })

export const SleepAction = z
  .strictObject({ type: z.literal('sleep'), duration: durationBetween(0, DAY_MS, 'from 0s to 1d') })
  .describe('Waits for the given time; for tests and demonstrations.')
  .meta({ id: 'SleepAction' })

/** The name of a handler: short enough for a list, and for a label in a chart. */
export const HandlerName = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._:-]{0,99}$/,
    'must be 1 to 100 letters, digits, dots, colons, dashes or underscores',
  )

const Payload = z
  .unknown()
  .refine(
    (payload) => JSON.stringify(payload).length <= MAX_BODY_CHARACTERS,
    `must not be larger than ${MAX_BODY_CHARACTERS} characters as JSON`,
  )
  .describe('Any JSON value. It is passed to the handler.')

export const HandlerAction = z
  .strictObject({ type: z.literal('handler'), name: HandlerName, payload: Payload.optional() })
  .describe('Runs the handler of this name in a remote worker.')
  .meta({ id: 'HandlerAction' })

export const Action = z
  .discriminatedUnion('type', [
    PingAction,
    WebhookAction,
    HttpAction,
    SlackAction,
    EmailAction,
    SleepAction,
    HandlerAction,
    ExecAction,
  ])
  .meta({ id: 'Action' })
