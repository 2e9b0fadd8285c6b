/**
 * Bad input in every field of every request: refused before it can do harm, with the field named, and
 * nothing stored. Each table of the parts says what is sent, where the answer must point, and what it must say.
 */
import { createTestDatabase } from '../support/database.ts'
import { acts } from './bad-input/acts.ts'
import { http } from './bad-input/http.ts'
import { queries } from './bad-input/queries.ts'
import { startRefusals } from './bad-input/refusals.ts'
import { tasks } from './bad-input/tasks.ts'
import { workers } from './bad-input/workers.ts'

const refusals = await startRefusals(await createTestDatabase())

tasks(refusals)
acts(refusals)
queries(refusals)
http(refusals)
workers(refusals)
