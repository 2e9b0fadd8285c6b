/**
 * Signals that an attempt must end. It is the part of AbortSignal that executors need, and every AbortSignal satisfies it. Most
 * attempts end by themselves, and creating an AbortSignal for each would cost more than a whole run.
 */
export interface StopSignal {
  readonly aborted: boolean
  addEventListener(type: 'abort', listener: () => void): void
  removeEventListener(type: 'abort', listener: () => void): void
}
