import { Refusal } from '../../core/errors.ts'
import type { App } from '../app.ts'

/** What every request that Belfry sends carries, and tasks cannot set. */
const MARKS = ['belfry-task-id', 'belfry-subscription-id'] as const
const OWN_USER_AGENT = /^belfry\//

/**
 * Refuses what a task or a subscription sends. A worker does not connect to where its own process listens; by way of
 * another node, a proxy or a forwarded port a call can get here all the same, and then it shows what it is.
 */
export function guardLoops(app: App): void {
  app.addHook('onRequest', async ({ headers }) => {
    const isMarked = MARKS.some((name) => headers[name] !== undefined)
    if (!isMarked && !OWN_USER_AGENT.test(headers['user-agent'] ?? '')) return
    throw new Refusal(
      'own_request',
      'This request was sent by a task or subscription of Belfry, and Belfry does not call its own API. Call the API from your own program.',
    )
  })
}
