/**
 * Performs `slack`: a message to an incoming webhook. Slack responds with `ok`, or with a status and a word that names the
 * error. Most errors are permanent; the exceptions are rate limits, reported with 429 and Retry-After, and Slack's own errors,
 * reported with 5xx.
 */
import type { SlackAction } from '../../core/action/action.ts'
import type { Outcome } from '../../core/run/outcome.ts'
import type { HttpClient, HttpResponse, HttpResult } from '../../outgoing/http-client.ts'
import { UNSIGNED } from '../../outgoing/signer.ts'
import type { Executor } from '../executor.ts'
import { isRetryable, retryAfterOf, Targets } from './http.ts'
import { attemptHeaders } from './http-headers.ts'

export interface SlackExecutorOptions {
  readonly client: HttpClient
  readonly userAgent: string
}

/** The executor of messages to Slack. It does not own the client. */
export function createSlackExecutor({ client, userAgent }: SlackExecutorOptions): Executor<SlackAction> {
  const targets = new Targets()
  return {
    async execute({ url, text, blocks }, context) {
      const target = targets.get(url, context)
      if (typeof target === 'string')
        return {
          kind: 'failed',
          error: { code: 'invalid_url', message: `the URL ${target}` },
          retryable: false,
        }
      const body = JSON.stringify({ text, blocks })
      // Slack authenticates by the URL, which is the secret, so nothing is signed.
      const sending = { userAgent, body, signer: UNSIGNED, origin: target.origin, now: context.now() }
      const headers = attemptHeaders(context, sending)
      headers.push('content-type', 'application/json')
      const { signal, projectId } = context
      const result = await client.send({ target, method: 'POST', headers, body, signal, projectId })
      return toOutcome(result, { host: target.host, now: context.now() })
    },
  }
}

function toOutcome(result: HttpResult, { host, now }: { host: string; now: number }): Outcome {
  const { response } = result
  if (response === undefined)
    return result.ok ? completed(result.response) : { kind: 'failed', ...result.failure }
  const problem = problemOf(response)
  const isGood = response.status >= 200 && response.status < 300 && problem === undefined
  if (isGood) return result.ok ? completed(response) : { kind: 'failed', ...result.failure, output: response }
  return refused(response, { host, problem, now })
}

const completed = (output: HttpResponse): Outcome => ({ kind: 'completed', output })

/** Returns Slack's error code: the body, or the member `error` of a body with `ok: false`. */
function problemOf({ status, body }: HttpResponse): string | undefined {
  const word = body.trim()
  if (WORD.test(word)) return status >= 300 || word in MEANINGS ? word : undefined
  const match = /^\{\s*"ok"\s*:\s*false\s*,\s*"error"\s*:\s*"([a-z_]{1,60})"/.exec(word)
  return match?.[1]
}

const WORD = /^[a-z][a-z_]{0,59}$/

/** The meaning of Slack's error codes, and which of them are transient. */
const MEANINGS: Readonly<Record<string, { readonly means: string; readonly isTransient?: true }>> = {
  action_prohibited: { means: 'a Slack admin has disallowed this' },
  channel_is_archived: { means: 'the channel is archived' },
  channel_not_found: { means: 'the channel does not exist' },
  invalid_blocks: { means: 'the blocks are not valid' },
  invalid_payload: { means: 'the message is not valid' },
  invalid_token: { means: 'the webhook URL is no longer valid' },
  missing_text_or_fallback_or_attachments: { means: 'the message has no text' },
  no_active_hooks: { means: 'the webhook was disabled' },
  no_service: { means: 'the webhook was removed or disabled' },
  no_service_id: { means: 'the webhook URL is incomplete' },
  no_team: { means: 'the workspace no longer exists' },
  no_text: { means: 'the message has no text' },
  posting_to_general_channel_denied: { means: 'posting to the general channel is restricted' },
  rate_limited: { means: 'too many messages', isTransient: true },
  rollup_error: { means: 'Slack reported an internal error', isTransient: true },
  team_disabled: { means: 'the workspace is disabled' },
  too_many_attachments: { means: 'the message has too many attachments' },
  user_not_found: { means: 'the user does not exist' },
}

function refused(
  response: HttpResponse,
  { host, problem, now }: { host: string; problem: string | undefined; now: number },
): Outcome {
  const { status } = response
  const known = problem === undefined ? undefined : MEANINGS[problem]
  const retryAfterMs = retryAfterOf(response, now)
  const word = problem === undefined ? '' : `: ${problem}`
  return {
    kind: 'failed',
    error: {
      code: 'slack_refused',
      message: `HTTP ${status} from ${host}${word}${known === undefined ? '' : `, ${known.means}`}`,
      detail: { status, ...(problem === undefined ? {} : { error: problem }) },
    },
    retryable: known === undefined ? isRetryable(status) : known.isTransient === true,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    output: response,
  }
}
