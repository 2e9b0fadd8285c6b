/** What a task asks for. The wire form is the stored form: one tagged object per action type. */

/** A GET request that checks whether a server answers. */
export interface PingAction {
  readonly type: 'ping'
  readonly url: string
}

/** A POST request with a body. A string is sent as it is, every other value as JSON. */
export interface WebhookAction {
  readonly type: 'webhook'
  readonly url: string
  readonly body?: unknown
}

export const HTTP_METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const
export type HttpMethod = (typeof HTTP_METHODS)[number]

/** Any HTTP request, with the statuses that count as success. */
export interface HttpAction {
  readonly type: 'http'
  readonly url: string
  readonly method: HttpMethod
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
  /** Statuses that count as success: numbers, or classes such as `2xx`. Default `['2xx']`. */
  readonly expect?: readonly (number | string)[]
  /** Maximum number of redirects to follow; none if 0 or absent. */
  readonly followRedirects?: number
  /** How long to wait for a connection, and, once the request is sent, for the status line and headers of the response. */
  readonly connectTimeout?: string
  readonly firstByteTimeout?: string
}

export const MAX_REDIRECTS = 10

/** A message to an incoming webhook of Slack or of a compatible service. */
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

/** Code in a worker of the user's own: a worker that provides the handler `name` receives the payload. */
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
  /** The standard input of the program: a string as it is, every other value as JSON. */
  readonly stdin?: unknown
  /** Files that are placed in the program's work directory. */
  readonly files?: readonly WorkFile[]
  /** Whether the program may use the network. Absent means that it may not. */
  readonly network?: boolean
  readonly limits?: ExecLimits
  readonly exitCodes?: ExitCodes
}

/** A file in the work directory of a program: an uploaded file, or text. */
export type WorkFile =
  | { readonly path: string; readonly file: string }
  | { readonly path: string; readonly content: string }

/** Resource limits of a program. The worker's defaults replace absent ones. */
export interface ExecLimits {
  /** A size such as `256MiB`. */
  readonly memory?: string
  readonly cpus?: number
  readonly processes?: number
  /** Maximum size of a file that the program writes, and of all that it writes to its work directory. */
  readonly fileSize?: string
}

/** The meaning of exit codes. Among codes that are not listed, 0 completes the run, and every other code is retried. */
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

/**
 * The part of an action that stays in memory with a waiting run if the whole action is too large. The worker that performs the
 * run reads the rest.
 */
export interface LargeAction {
  readonly type: ActionType
  /** For a handler: its name, which determines the lane of its runs. */
  readonly name?: string
  /** For a program that is a command: its path, which determines the lane of its runs. */
  readonly command?: string
  /** For a request: the origin that it calls. */
  readonly target?: string
  /** Size of the whole definition. */
  readonly largeBytes: number
}

export const isLarge = (action: Action | LargeAction): action is LargeAction => 'largeBytes' in action

/** Where an action goes, in a few words: an address, a recipient, or the duration of a sleep. */
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

/** The name of the member that holds the action's target, which follows the type on the command line: `webhook:URL`. */
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
