/** What the caller expects of the task it changes: a version, that it exists, or nothing at all. */
export type ExpectedVersion = number | 'any' | null
