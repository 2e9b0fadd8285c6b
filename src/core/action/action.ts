/** What a task asks for. The wire form is the stored form: one tagged object per action type. */

/** A GET, to see that somebody answers. */
export interface PingAction {
  readonly type: 'ping'
  readonly url: string
}

/** A POST of the body. A string is sent as it is, everything else as JSON. */
export interface WebhookAction {
  readonly type: 'webhook'
  readonly url: string
  readonly body?: unknown
}

export const HTTP_METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const
export type HttpMethod = (typeof HTTP_METHODS)[number]

/** Any request, with a word on which answers are good. */
export interface HttpAction {
  readonly type: 'http'
  readonly url: string
  readonly method: HttpMethod
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
  /** Statuses that count as success: numbers, or classes such as `2xx`. Default `['2xx']`. */
  readonly expect?: readonly (number | string)[]
  /** How many redirects to follow; left out or 0, none. */
  readonly followRedirects?: number
  /** How long to wait for a connection, and, once the request is sent, for the head of the answer. */
  readonly connectTimeout?: string
  readonly firstByteTimeout?: string
}

export const MAX_REDIRECTS = 10

/** A message to an incoming webhook of Slack, or of something that speaks the same. */
export interface SlackAction {
  readonly type: 'slack'
  readonly url: string
  readonly text?: string
  readonly blocks?: readonly unknown[]
}

/** A message through the mail server of the installation. Addresses are like `Ada <ada@example.com>`. */
export interface EmailAction {
  readonly type: 'email'
  readonly to: string | readonly string[]
  readonly cc?: string | readonly string[]
  readonly bcc?: string | readonly string[]
  readonly from?: string
  readonly replyTo?: string
  readonly subject: string
  readonly text?: string
  readonly html?: string
}

/** Simulated work: waits for the duration, then succeeds. */
export interface SleepAction {
  readonly type: 'sleep'
  readonly duration: string
}

/** Code in a worker of the user's own: the worker that offers `name` is given the payload. */
export interface HandlerAction {
  readonly type: 'handler'
  readonly name: string
  /** Any JSON, as it was written. */
  readonly payload?: unknown
}

/** A program on a worker's machine: an uploaded file, or a command that the operator of the worker allows. */
export interface ExecAction {
  readonly type: 'exec'
  /** The id of an uploaded file. Either this or `command` is given. */
  readonly file?: string
  /** An absolute path on the worker's machine. */
  readonly command?: string
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** What the program reads from its standard input. A string as it is, everything else as JSON. */
  readonly stdin?: unknown
  /** Files that the program finds in its work directory. */
  readonly files?: readonly WorkFile[]
  /** Whether the program may use the network; left out, it may not. */
  readonly network?: boolean
  readonly limits?: ExecLimits
  readonly exitCodes?: ExitCodes
}

/** A file in the work directory of a program: one that was uploaded, or text. */
export type WorkFile =
  | { readonly path: string; readonly file: string }
  | { readonly path: string; readonly content: string }

/** What a program may use; what is left out is the worker's default. */
export interface ExecLimits {
  /** A size such as `256MiB`. */
  readonly memory?: string
  readonly cpus?: number
  readonly processes?: number
  /** The largest file that it may write, and all that it may write to its work directory. */
  readonly fileSize?: string
}

/** What exit codes mean. Of those that are not listed 0 completes, and every other is retried. */
export interface ExitCodes {
  readonly complete?: readonly number[]
  readonly retry?: readonly number[]
  readonly fail?: readonly number[]
}

export type Action =
  | PingAction
  | WebhookAction
  | HttpAction
  | SlackAction
  | EmailAction
  | SleepAction
  | HandlerAction
  | ExecAction
export type ActionType = Action['type']

/** What the engine keeps of an action that is too large to wait in memory with its run: whoever performs it reads the rest. */
export interface LargeAction {
  readonly type: ActionType
  /** Of a handler: it says which lane its runs wait in. */
  readonly name?: string
  /** Of a program that is a command: the same. */
  readonly command?: string
  /** Of a request: the origin that it calls. */
  readonly target?: string
  /** How long all of the definition is. */
  readonly largeBytes: number
}

export const isLarge = (action: Action | LargeAction): action is LargeAction => 'largeBytes' in action

/** Where an action goes, in a word: an address, a recipient, how long it takes. */
export function targetOfAction(action: Action): string {
  switch (action.type) {
    case 'sleep':
      return action.duration
    case 'handler':
      return action.name
    case 'email':
      return typeof action.to === 'string' ? action.to : action.to.join(', ')
    case 'exec':
      return action.command ?? action.file ?? ''
    default:
      return action.url
  }
}

type TargetOf = string | ((target: string) => string)

const TARGETS: Readonly<Record<string, TargetOf>> = {
  sleep: 'duration',
  ping: 'url',
  webhook: 'url',
  http: 'url',
  slack: 'url',
  email: 'to',
  handler: 'name',
  exec: (target) => (target.startsWith('/') ? 'command' : 'file'),
} satisfies Record<ActionType, TargetOf>

/** The member that says where an action goes, and stands behind its type on the command line: `webhook:URL`. */
export function targetMember(type: string, target: string): string | undefined {
  const member = Object.hasOwn(TARGETS, type) ? TARGETS[type] : undefined
  return typeof member === 'function' ? member(target) : member
}

export const ACTION_TYPES = [
  'ping',
  'webhook',
  'http',
  'slack',
  'email',
  'sleep',
  'handler',
  'exec',
] as const satisfies readonly ActionType[]
