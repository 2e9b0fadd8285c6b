/**
 * Claims runs from side lanes once there is room for them. A side lane whose line is full is not examined. One whose line has
 * room is examined if runs are known to wait there, and otherwise periodically, because another node may have put runs there.
 */
import type { Capacity } from './capacity.ts'
import type { Ask } from './claiming.ts'
import type { ServedLanes, ServedSide } from './served-lanes.ts'
import type { WorkLine } from './work-line.ts'

export interface SideClaimsOptions {
  readonly capacity: Capacity
  readonly lanes: ServedLanes
  /** Claims from side lanes; `lineOf` returns the line of a lane. */
  claim(ask: Ask, lineOf: (lane: number) => WorkLine): Promise<'all' | 'more'>
}

/** Lanes of lines with room are examined this often even if no run is known to wait there. */
const LOOK_EVERY_MS = 250

/** A line that has room, and its side lanes. */
interface OpenLine {
  readonly line: WorkLine
  readonly lanes: readonly number[]
  readonly room: number
  /** The part of the room in which runs could start at once. */
  readonly free: number
}

export class SideClaims {
  readonly #options: SideClaimsOptions

  constructor(options: SideClaimsOptions) {
    this.#options = options
  }

  /** Claims as many runs as there is room for; returns when to look again, if runs wait or may wait. */
  async runOnce(): Promise<number | undefined> {
    const { lanes, capacity } = this.#options
    if (lanes.sides.length === 0) return undefined
    const open = this.#openLines()
    if (open.length > 0) await this.#claimFor(open)
    return capacity.hasBacklog ? LOOK_EVERY_MS : undefined
  }

  async #claimFor(open: readonly OpenLine[]): Promise<void> {
    const { claim } = this.#options
    const most = new Map<number, number>()
    const lineOf = new Map<number, WorkLine>()
    for (const { line, lanes, room } of open) {
      line.reserved += room
      for (const [i, lane] of lanes.entries()) {
        most.set(lane, Math.ceil((room - i) / lanes.length))
        lineOf.set(lane, line)
      }
    }
    const before = new Map(open.map(({ line }) => [line, line.pledged]))
    const lanes = [...most.keys()].filter((lane) => (most.get(lane) ?? 0) > 0)
    const limit = this.#limitOf(open)
    let found: 'all' | 'more' = 'more'
    try {
      found = await claim({ lanes, limit, most }, (lane) => {
        const line = lineOf.get(lane) as WorkLine
        line.pledged++
        return line
      })
    } finally {
      for (const { line, room } of open) {
        const got = line.pledged - (before.get(line) ?? 0)
        line.reserved -= room - got
        // If the claim failed or was cut short, the previous estimate of waiting runs stands.
        if (got >= room) line.hasBacklog = true
        else if (found === 'all') line.hasBacklog = false
        this.#options.capacity.forgetIfIdle(line)
      }
    }
  }

  /**
   * The lines may together have more free slots than there are calls left: then the limit lets priority decide which runs get
   * them.
   */
  #limitOf(open: readonly OpenLine[]): number {
    const rooms = open.reduce((sum, { room }) => sum + room, 0)
    const free = open.reduce((sum, { line, free }) => sum + (line.calls ? free : 0), 0)
    return rooms - Math.max(0, free - this.#options.capacity.freeCalls)
  }

  #openLines(): OpenLine[] {
    const { capacity, lanes } = this.#options
    const now = performance.now()
    const open: OpenLine[] = []
    for (const [line, sides] of this.#byLine(
      lanes.sides.filter(({ isStrict, isLimited }) => !isStrict && !isLimited),
    )) {
      const free = capacity.free(line)
      const room = free + capacity.ahead(line)
      if (room <= 0 || (!line.hasBacklog && now - line.lookedAt < LOOK_EVERY_MS)) continue
      line.lookedAt = now
      open.push({ line, room, free, lanes: sides.map(({ id }) => id) })
    }
    return open
  }

  /**
   * Returns the side lanes whose runs are claimed only into free slots, with the number of free slots for each; lanes without
   * one are left out.
   */
  withFreePlaces(): ReadonlyMap<number, number> {
    const { capacity, lanes } = this.#options
    const free = new Map<number, number>()
    for (const [line, sides] of this.#byLine(
      lanes.sides.filter(({ isStrict, isLimited }) => isStrict || isLimited),
    )) {
      const places = capacity.places(line)
      if (places > 0) for (const { id } of sides) free.set(id, Math.ceil(places / sides.length))
    }
    return free
  }

  /**
   * Keeps a slot of a line as long as a run waits that is claimed only into a free slot: in the line's side lanes, or in the
   * lane of a concurrency key, whose lines are in `waitedFor`. The lines in `kept` had a free slot when `occupied` was queried;
   * nothing is known of the others.
   */
  keepSlots(
    kept: readonly WorkLine[],
    occupied: ReadonlySet<number>,
    waitedFor: ReadonlySet<WorkLine>,
  ): void {
    const { lanes } = this.#options
    const sides = this.#byLine(lanes.sides.filter(({ isStrict, isLimited }) => isStrict || isLimited))
    for (const line of kept)
      line.isSlotKept = waitedFor.has(line) || sides.get(line)?.some(({ id }) => occupied.has(id)) === true
  }

  #byLine(sides: readonly ServedSide[]): Map<WorkLine, ServedSide[]> {
    const byLine = new Map<WorkLine, ServedSide[]>()
    for (const side of sides) {
      const line = this.#options.capacity.of(side.line)
      const lanes = byLine.get(line) ?? []
      lanes.push(side)
      byLine.set(line, lanes)
    }
    return byLine
  }
}
