/**
 * A task while somebody writes it: every field as the text that stands in its box. `inputOf` makes of it what
 * the API takes; the API alone decides whether it is right.
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
  /** One header a line, as in a request. */
  readonly headers: string
  readonly body: string
  /** Statuses that count as success, apart by spaces or commas. */
  readonly expect: string
  readonly followRedirects: string
  readonly connectTimeout: string
  readonly firstByteTimeout: string
  readonly duration: string
  readonly handler: string
  readonly payload: string
  /** Recipients of an email, apart by commas or lines. */
  readonly to: string
  readonly cc: string
  readonly bcc: string
  readonly from: string
  readonly replyTo: string
  readonly subject: string
  /** The text of a message to Slack or of an email. */
  readonly message: string
  readonly html: string
  /** Blocks of a message to Slack, as JSON. */
  readonly blocks: string
  /** Whether a program is a file that was uploaded, or one that the worker's machine has. */
  readonly program: 'file' | 'command'
  readonly file: string
  readonly command: string
  /** Arguments of a program, one on each line. */
  readonly args: string
  /** Variables of a program, `NAME=value` on each line. */
  readonly env: string
  readonly stdin: string
  readonly network: boolean
  /** Files in the work directory, limits and exit codes, as JSON. */
  readonly files: string
  readonly limits: string
  readonly exitCodes: string
  readonly when: Schedule['type'] | 'words'
  /** A schedule as people say it; the server reads it. */
  readonly words: string
  /** A schedule that the form shows and does not edit, as JSON. */
  readonly kept: string
  readonly interval: string
  /** An instant on the grid of a fixed rate. */
  readonly anchor: string
  /** An instant; the form shows it on the clock of `timezone`. */
  readonly at: string
  readonly expression: string
  readonly time: string
  readonly timezone: string
  readonly gap: GapPolicy
  readonly fold: FoldPolicy
  /** What was said as JSON and no field can show: it is sent as it is, in the place of what the fields say. */
  readonly raw: Readonly<Record<string, unknown>>
}

/** A new task: nothing is decided yet but the zone, which is the reader's own. */
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
