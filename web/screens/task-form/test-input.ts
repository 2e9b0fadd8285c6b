/** The task that does once, now, what a draft says: where its runs would run, with the limits they would have. */
import { FIELD_LIST } from '../../../src/core/task/field-list.ts'
import type { TaskInput } from '../../api/wire.ts'
import type { Draft } from './draft.ts'
import { fullInput } from './draft-input.ts'

const MAX_NAME = 200
/** A test run never waits for a worker forever, even if the draft allows it. */
const QUEUE_TIMEOUT = '1m'

/** What is about several runs means nothing to one. */
const ABOUT_SEVERAL: readonly string[] = ['retry', 'overlap', 'misfire']
/** Not its key, which is the saved task's own, nor its tags, which others listen to, nor when it is due. */
const CARRIED = FIELD_LIST.filter(
  ({ name, about }) => about !== 'identity' && about !== 'when' && !ABOUT_SEVERAL.includes(name),
)

export function testInput(draft: Draft): TaskInput {
  const full = fullInput(draft)
  const name = draft.name.trim()
  return {
    ...(Object.fromEntries(CARRIED.map((field) => [field.name, full[field.name]])) as unknown as TaskInput),
    name: name === '' ? 'Test run' : `Test of ${name}`.slice(0, MAX_NAME),
    tags: ['test'],
    retry: { limit: 0 },
    queueTimeout: full.queueTimeout ?? QUEUE_TIMEOUT,
  }
}
