/** What any request may do to the process that serves it: `/healthz` answers within this time meanwhile. */
export const MAX_HELD_MS = 200
