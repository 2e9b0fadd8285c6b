/**
 * A task while it is being written: every field as the text in its box. `inputOf` converts it to the API's input; only the API
 * decides whether it is valid.
 */
import type { ActionType, FoldPolicy, GapPolicy, HttpMethod, Schedule, Task } from '../../api/wire.ts'
import { myZone } from '../../time/zone.ts'
import { actionFields } from './draft-action.ts'
import { boxesOf, emptyBoxes, type MemberBoxes, type PlainBoxes } from './draft-fields.ts'
import { scheduleFields } from './draft-schedule.ts'

export interface Draft extends PlainBoxes, MemberBoxes {
  readonly action: ActionType
  readonly url: string
  readonly method: HttpMethod
  /** One header on each line. */
  readonly headers: string
  readonly body: string
  /** Statuses that count as success, separated by spaces or commas. */
  readonly expect: string
  readonly followRedirects: string
  readonly connectTimeout: string
  readonly firstByteTimeout: string
  readonly duration: string
  readonly handler: string
  readonly payload: string
  /** Recipients of an email, separated by commas or line breaks. */
  readonly to: string
  readonly cc: string
  readonly bcc: string
  readonly from: string
  readonly replyTo: string
  readonly subject: string
  /** Text of a Slack message or an email. */
  readonly message: string
  readonly html: string
  /** Blocks of a Slack message, as JSON. */
  readonly blocks: string
  /** Whether the program is an uploaded file or a command of the worker's machine. */
  readonly program: 'file' | 'command'
  readonly file: string
  readonly command: string
  /** Arguments of a program, one on each line. */
  readonly args: string
  /** Variables of a program, `NAME=value` on each line. */
  readonly env: string
  readonly stdin: string
  readonly network: boolean
  /** Files in the working directory, limits and exit codes, as JSON. */
  readonly files: string
  readonly limits: string
  readonly exitCodes: string
  readonly when: Schedule['type'] | 'words'
  /** A schedule in words, which the server interprets. */
  readonly words: string
  /** A schedule that the form can show but not edit, as JSON. */
  readonly kept: string
  readonly interval: string
  /** The anchor of a fixed rate. */
  readonly anchor: string
  /** An instant, shown in the time zone `timezone`. */
  readonly at: string
  readonly expression: string
  readonly time: string
  readonly timezone: string
  readonly gap: GapPolicy
  readonly fold: FoldPolicy
  /** Values from JSON that no field can show. They are sent as they are, in place of the fields. */
  readonly raw: Readonly<Record<string, unknown>>
}

/** A new task. Only the time zone is set, to the user's own. */
export function emptyDraft(): Draft {
  return {
    ...emptyBoxes(),
    action: 'webhook',
    url: '',
    method: 'POST',
    headers: '',
    body: '',
    expect: '',
    followRedirects: '',
    connectTimeout: '',
    firstByteTimeout: '',
    duration: '1s',
    handler: '',
    payload: '',
    to: '',
    cc: '',
    bcc: '',
    from: '',
    replyTo: '',
    subject: '',
    message: '',
    html: '',
    blocks: '',
    program: 'file',
    file: '',
    command: '',
    args: '',
    env: '',
    stdin: '',
    network: false,
    files: '',
    limits: '',
    exitCodes: '',
    when: 'daily',
    words: `every weekday at 9:00 (${myZone()})`,
    kept: '',
    interval: '1m',
    anchor: '',
    at: '',
    expression: '0 9 * * MON-FRI',
    time: '09:00',
    timezone: myZone(),
    gap: 'next',
    fold: 'first',
    raw: {},
  }
}

export const draftOf = (task: Task): Draft => ({
  ...emptyDraft(),
  ...boxesOf({ ...task }),
  ...actionFields(task.action),
  ...scheduleFields(task.schedule),
})
