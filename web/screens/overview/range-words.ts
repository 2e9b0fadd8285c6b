import type { ChartRange } from '../../app/router.tsx'

export const RANGE_WORDS: Readonly<Record<ChartRange, string>> = {
  '1h': 'last 60 minutes',
  '5h': 'last 5 hours',
  '24h': 'last 24 hours',
  '7d': 'last 7 days',
}
