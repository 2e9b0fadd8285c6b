/**
 * The input of the temporary task that performs a draft once, on the same workers and with the same limits as the draft's own
 * runs.
 */
import { FIELD_LIST } from '../../../src/core/task/field-list.ts'
import type { TaskInput } from '../../api/wire.ts'
import type { Draft } from './draft.ts'
import { fullInput } from './draft-input.ts'

const MAX_NAME = 200
/** A test run never waits for a worker forever, even if the draft allows it. */
const QUEUE_TIMEOUT = '1m'

/** Settings about several runs do not apply to a single one. */
const ABOUT_SEVERAL: readonly string[] = ['retry', 'overlap', 'misfire']
/** The key belongs to the saved task, others may subscribe to its tags, and the test runs at once, so these are left out. */
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
