import { z } from 'zod'
import { HTTP_METHODS, MAX_REDIRECTS } from '../../core/action.ts'
import { isReservedHeader } from '../../core/reserved-headers.ts'
import { parseTargetUrl } from '../../core/target-url.ts'
import { durationBetween } from './values.ts'

const MAX_BODY_CHARACTERS = 256 * 1024
const MAX_URL_CHARACTERS = 4_096
const DAY_MS = 86_400_000

const TargetUrl = z
  .string()
  .max(MAX_URL_CHARACTERS)
  .superRefine((text, context) => {
    const target = parseTargetUrl(text)
    if (!target.ok) context.addIssue({ code: 'custom', message: target.reason })
  })
  .meta({ format: 'uri', example: 'https://example.com/hook' })

/** It came as JSON, so whatever it is can be sent as JSON. */
const Body = z
  .unknown()
  .refine(
    (body) => JSON.stringify(body).length <= MAX_BODY_CHARACTERS,
    `must not be larger than ${MAX_BODY_CHARACTERS} characters as JSON`,
  )
  .describe('Any JSON. A string is sent as it is, everything else as JSON.')

const HeaderName = z
  .string()
  .max(200)
  .regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, 'is not a valid header name')
  .refine((name) => !isReservedHeader(name), 'is set by Belfry itself and cannot be chosen')
const HeaderValue = z
  .string()
  .max(8_192)
  .regex(/^[\t\x20-\x7e\x80-\xff]*$/, 'must not contain line breaks or other control characters')

const Headers = z
  .record(HeaderName, HeaderValue)
  .refine((headers) => Object.keys(headers).length <= 50, 'must not hold more than 50 headers')

const expectRule = 'must be a status from 100 to 599 or a class such as "2xx"'
const ExpectedStatus = z.union(
  [z.int().min(100, expectRule).max(599, expectRule), z.string().regex(/^[1-5]xx$/, expectRule)],
  { error: expectRule },
)

export const PingAction = z
  .strictObject({ type: z.literal('ping'), url: TargetUrl })
  .describe('A GET.')
  .meta({ id: 'PingAction' })

export const WebhookAction = z
  .strictObject({ type: z.literal('webhook'), url: TargetUrl, body: Body.optional() })
  .describe('A POST of the body.')
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
      .describe('How many redirects to follow. Default 0: a redirect is an answer like any other.'),
    connectTimeout: durationBetween(1, DAY_MS, 'from 1ms to 1d')
      .optional()
      .describe(
        'How long to wait for a connection, a free one of the pool included. Default 10s for a new one.',
      ),
    firstByteTimeout: durationBetween(1, DAY_MS, 'from 1ms to 1d')
      .optional()
      .describe('How long the receiver may take until the head of its answer is there. Default the timeout.'),
  })
  .describe('Any HTTP request.')
  .meta({ id: 'HttpAction' })

export const SleepAction = z
  .strictObject({ type: z.literal('sleep'), duration: durationBetween(0, DAY_MS, 'from 0s to 1d') })
  .describe('Simulated work.')
  .meta({ id: 'SleepAction' })

/** The name that a worker offers: short enough to be read in a list, and for a label on a chart. */
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
  .describe('Any JSON. The handler is called with it.')

export const HandlerAction = z
  .strictObject({ type: z.literal('handler'), name: HandlerName, payload: Payload.optional() })
  .describe("Code in a worker of the user's own, which offers a handler of that name.")
  .meta({ id: 'HandlerAction' })

export const Action = z
  .discriminatedUnion('type', [PingAction, WebhookAction, HttpAction, SleepAction, HandlerAction])
  .meta({ id: 'Action' })
