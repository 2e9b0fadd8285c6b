/**
 * The header Date has a precision of whole seconds, so a client corrects its estimate of the server's clock only if the two
 * differ by more than this.
 */
export const CLOCK_DOUBT_MS = 1_500
