/**
 * UUIDv7 from pooled randomness. An id costs a fraction of a microsecond and sorts by the millisecond in which it was made; ids
 * that one process makes in the same millisecond sort in the order in which they were made.
 */
import { randomFillSync } from 'node:crypto'

const POOL_BYTES = 8 * 1024
const RANDOM_BYTES_AN_ID = 8

const pool = Buffer.alloc(POOL_BYTES)
let used = POOL_BYTES
let lastMs = 0
let counter = 0

const hex: string[] = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))
const at = (byte: number): string => hex[byte & 0xff] ?? ''

/**
 * The 12 bits after the version count up within a millisecond. When they are exhausted, the id borrows the next millisecond, so
 * the order always holds, even if `now` goes backwards.
 */
export function uuidv7(now: number = Date.now()): string {
  if (now > lastMs) {
    lastMs = now
    counter = 0
  } else if (++counter > 0xfff) {
    lastMs++
    counter = 0
  }
  if (used + RANDOM_BYTES_AN_ID > POOL_BYTES) {
    randomFillSync(pool)
    used = 0
  }
  const r = used
  used += RANDOM_BYTES_AN_ID
  const high = Math.floor(lastMs / 0x10000)
  return (
    at(high >>> 24) +
    at(high >>> 16) +
    at(high >>> 8) +
    at(high) +
    '-' +
    at(lastMs >>> 8) +
    at(lastMs) +
    '-' +
    at(0x70 | (counter >>> 8)) +
    at(counter) +
    '-' +
    at(0x80 | ((pool[r] ?? 0) & 0x3f)) +
    at(pool[r + 1] ?? 0) +
    '-' +
    at(pool[r + 2] ?? 0) +
    at(pool[r + 3] ?? 0) +
    at(pool[r + 4] ?? 0) +
    at(pool[r + 5] ?? 0) +
    at(pool[r + 6] ?? 0) +
    at(pool[r + 7] ?? 0)
  )
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

export function isUuid(text: string): boolean {
  return UUID.test(text)
}

/** When a UUIDv7 was made, in epoch milliseconds. History is searched for a run from that day on. */
export function uuidTime(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
}

/** The least possible UUIDv7 of an instant: no id made at or after it is lower, and every id made before it is. */
export function leastUuidAt(ms: number): string {
  const hex = Math.max(0, Math.floor(ms)).toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`
}

/** The least and the greatest id with this prefix, whose dashes may be omitted. */
export function idRange(prefix: string): { least: string; greatest: string } {
  const digits = prefix.replaceAll('-', '').slice(0, 32).toLowerCase()
  return { least: withDashes(digits.padEnd(32, '0')), greatest: withDashes(digits.padEnd(32, 'f')) }
}

const withDashes = (hex: string): string => hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')

/** Number of shards of the agenda. */
export const SHARD_COUNT = 64

/** The shard of a task: the last bits of its id, which are random. */
export function shardOf(taskId: string): number {
  return Number.parseInt(taskId.slice(-2), 16) % SHARD_COUNT
}
