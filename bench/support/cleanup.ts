/** What must be undone before the process ends, whether it ends well, by an error or by a signal. */
const pending = new Set<() => unknown>()

/** Registers a function that undoes something. The returned function calls it now, at most once. */
export function onCleanup(undo: () => unknown): () => Promise<void> {
  pending.add(undo)
  return async () => {
    if (pending.delete(undo)) await undo()
  }
}

let cleaning: Promise<void> | undefined

/**
 * Undoes everything, the latest first; a failure is reported and does not stop the rest. Callers during a cleanup wait for it:
 * a signal and the failure that it causes must not end the process early.
 */
export function cleanUp(): Promise<void> {
  cleaning ??= undoAll()
  return cleaning
}

async function undoAll(): Promise<void> {
  for (const undo of [...pending].reverse()) {
    if (!pending.delete(undo)) continue
    try {
      await undo()
    } catch (error) {
      console.error(error)
    }
  }
}
