/** The reason for a change, which a request carries in a header and the audit log records. */
export const REASON_HEADER = 'belfry-reason'
export const MAX_REASON_CHARACTERS = 500
