/** A background part of the program: it starts once and, when stopped, finishes what it has in hand. */
export interface Service {
  start(): Promise<void> | void
  /** Resolves when nothing of this part is running any more. */
  stop(): Promise<void>
}

/** Starts parts in order; when one fails, those already started are stopped again, last first. */
export async function startAll(services: readonly Service[]): Promise<void> {
  const started: Service[] = []
  try {
    for (const service of services) {
      await service.start()
      started.push(service)
    }
  } catch (error) {
    await stopAll(started)
    throw error
  }
}

/** Stops parts, last first, every one of them; what went wrong with some is thrown once all have stopped. */
export async function stopAll(services: readonly Service[]): Promise<void> {
  const failures: unknown[] = []
  for (const service of [...services].reverse()) {
    try {
      await service.stop()
    } catch (error) {
      failures.push(error)
    }
  }
  if (failures.length > 0) throw failures[0]
}
