import { expect } from 'vitest'
import { check, describe, type Seen } from './check.ts'
import type { Client } from './client.ts'
import type { Bounds, Fault, Tables } from './evidence.ts'
import { observe } from './observe.ts'
import type { Sink } from './sink.ts'

export interface Trial {
  /** The database, to be read as it stands now. */
  readonly url: string
  /** All clients that sent requests. */
  readonly client: Client | readonly Client[]
  readonly sink: Sink
  readonly faults: readonly Fault[]
  readonly bounds?: Partial<Bounds>
  readonly isPooled?: boolean
  /** What must have happened for the trial to prove anything. */
  readonly mustSee?: readonly (keyof Seen)[]
}

/** Scenarios do not test punctuality: their machine may be busy with other tests. */
const UNHURRIED: Partial<Bounds> = {
  lateMs: 60_000,
  retryMs: 30_000,
  stopMs: 30_000,
  idleMs: 60_000,
  unseenMs: 70_000,
}

/** Reads the tables and checks everything; fails with all findings. Returns what it read. */
export async function expectSound({
  url,
  client,
  sink,
  faults,
  bounds = {},
  isPooled = false,
  mustSee = [],
}: Trial): Promise<Tables> {
  const tables = await observe(url)
  const requests = [client].flat().flatMap((asking: Client) => asking.requests)
  const { deliveries } = sink
  const result = check(
    { requests, deliveries, faults, tables, isPooled, bounds: { ...UNHURRIED, ...bounds } },
    mustSee,
  )
  expect(result.kind, describe(result)).toBe('valid')
  return tables
}
