/** What dead letters can be grouped by. */
export const GROUPINGS = ['error', 'task', 'hour'] as const
export type Grouping = (typeof GROUPINGS)[number]
