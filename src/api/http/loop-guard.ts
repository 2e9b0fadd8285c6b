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
      'A task or subscription of Belfry sends this request, and Belfry does not call itself: call the API from a program of your own.',
    )
  })
}
