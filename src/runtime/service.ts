/** A background part of the program. It starts once and, when stopped, finishes its work in progress. */
export interface Service {
  start(): Promise<void> | void
  /** Resolves when nothing of this service is running any more. */
  stop(): Promise<void>
}

/** Starts services in order. If one fails, those already started are stopped in reverse order. */
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

/** Stops all services in reverse order, and then throws the errors of those that failed. */
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
