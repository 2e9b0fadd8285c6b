import { Refusal } from '../../core/errors.ts'
import type { App } from '../app.ts'

/** Headers that every request from Belfry has, and that tasks cannot set. */
const MARKS = ['belfry-task-id', 'belfry-subscription-id'] as const
const OWN_USER_AGENT = /^belfry\//

/**
 * Rejects requests of tasks and subscriptions. A worker does not connect to the address on which its own process listens, but a
 * call can reach it through another node, a proxy or a forwarded port; these headers identify it.
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
