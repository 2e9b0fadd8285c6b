/** What the caller believes about the task it changes: its version, that it exists, or nothing at all. */
export type ExpectedVersion = number | 'any' | null
