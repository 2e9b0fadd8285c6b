/**
 * What a run waited for at an instant that has passed, as far as records tell. A pause of a queue is known while it lasts. How
 * many places of a queue or a key were taken, and which workers were there, nobody writes down for good.
 */
import { instant, type Why, type WhyFacts } from './why.ts'

/** What is known about where a run waited. */
export interface Recorded {
  /** The queue that it waited in, when that was paused then and still is. */
  readonly pausedQueue: { readonly name: string; readonly since: number } | null
}

export function recordedCauses(
  { pausedQueue }: Recorded,
  { who, facts }: { readonly who: string; readonly facts: WhyFacts },
): Why[] {
  if (!pausedQueue) return []
  const { name, since } = pausedQueue
  return [
    {
      code: 'queue_paused',
      sentence: `${who}: the queue ${name} was paused at ${instant(since)} and still is.`,
      facts: { ...facts, queue: name, since },
      advice: `Resume it: belfry queue resume ${name}`,
    },
  ]
}
