/** How far back a list reaches; without a span there is no bound. */
import { useMemo } from 'react'
import { serverNow } from '../time/clock.ts'

export const SPANS = ['1h', '24h', '7d'] as const
export type Span = (typeof SPANS)[number]
/** In place of a span: the list reaches from one instant to another. */
export const BETWEEN = 'between'

const SPAN_MS: Readonly<Record<Span, number>> = { '1h': 3_600_000, '24h': 86_400_000, '7d': 604_800_000 }

/** The instant at which a list begins. It is fixed when the span is chosen; a moving bound would be a new query each second. */
export function useFrom(since: Span | undefined): string | undefined {
  return useMemo(
    () => (since === undefined ? undefined : new Date(serverNow() - SPAN_MS[since]).toISOString()),
    [since],
  )
}
