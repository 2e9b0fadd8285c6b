/** Events by webhook, from real nodes to a real receiver. */
import { createTestDatabase } from '../support/database.ts'
import { circuits } from './subscriptions/circuits.ts'
import { messages } from './subscriptions/messages.ts'
import { receivers } from './subscriptions/receivers.ts'
import { suspendedTasks } from './subscriptions/suspended-tasks.ts'
import { startTelling } from './subscriptions/telling.ts'

const telling = await startTelling(await createTestDatabase())

messages(telling)
circuits(telling)
// Each of these waits for seconds on end, and none minds the others: they run at once, as long as nothing stands between them.
suspendedTasks(telling)
receivers(telling)
