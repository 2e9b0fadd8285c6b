/**
 * Tells that an attempt must end. It is the part of AbortSignal that executors need, and any AbortSignal is
 * one; most attempts end by themselves, and creating a real one for each would cost more than a whole run.
 */
export interface StopSignal {
  readonly aborted: boolean
  addEventListener(type: 'abort', listener: () => void): void
  removeEventListener(type: 'abort', listener: () => void): void
}
