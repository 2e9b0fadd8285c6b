/** What must be undone before the process ends, whether it ends well, by an error or by a signal. */
const pending = new Set<() => unknown>()

/** Remembers how to undo something. The answer undoes it now, once. */
export function onCleanup(undo: () => unknown): () => Promise<void> {
  pending.add(undo)
  return async () => {
    if (pending.delete(undo)) await undo()
  }
}

let cleaning: Promise<void> | undefined

/**
 * Undoes everything, the latest first; what fails is said and does not keep the rest from being undone. Whoever
 * asks while it is under way waits for it: a signal and the failure it causes must not end the process early.
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
