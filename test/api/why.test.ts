/** One test for each cause: a task is brought into it, and says so. Where somebody must be there, real nodes are. */
import { createTestDatabase } from '../support/database.ts'
import { startAsking } from './why/asking.ts'
import { past } from './why/past.ts'
import { settled } from './why/settled.ts'
import { waiting } from './why/waiting.ts'
import { workers } from './why/workers.ts'

const asking = await startAsking(await createTestDatabase())

workers(asking)
waiting(asking)
settled(asking)
past(asking)
