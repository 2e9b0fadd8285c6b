/**
 * Claims what waits in side lanes, once there is room for it. A side lane whose line is full is not looked into at all; one whose line
 * has room is looked into when something is known to wait there, and otherwise now and then: another node may have put it there.
 */
import type { Capacity } from './capacity.ts'
import type { Ask } from './claiming.ts'
import type { ServedLanes, ServedSide } from './served-lanes.ts'
import type { WorkLine } from './work-line.ts'

export interface SideClaimsOptions {
  readonly hand: Capacity
  readonly lanes: ServedLanes
  /** Claims from side lanes, of which `lineOf` tells the lines. */
  claim(ask: Ask, lineOf: (lane: number) => WorkLine): Promise<'all' | 'more'>
}

/** Lanes of lines with room are looked into so often, whether or not something is known to wait there. */
const LOOK_EVERY_MS = 250

/** A line that has room, and the lanes beside which its runs wait. */
interface OpenLine {
  readonly line: WorkLine
  readonly lanes: readonly number[]
  readonly room: number
  /** As much of it as could start at once. */
  readonly free: number
}

export class SideClaims {
  readonly #options: SideClaimsOptions

  constructor(options: SideClaimsOptions) {
    this.#options = options
  }

  /** Claims what there is room for; answers when to look again, if something waits or may wait. */
  async runOnce(): Promise<number | undefined> {
    const { lanes, hand } = this.#options
    if (lanes.sides.length === 0) return undefined
    const open = this.#openLines()
    if (open.length > 0) await this.#claimFor(open)
    return hand.hasBacklog ? LOOK_EVERY_MS : undefined
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
        // Without an answer, or with one that was cut short, it is as likely as before that more waits.
        if (got >= room) line.hasBacklog = true
        else if (found === 'all') line.hasBacklog = false
        this.#options.hand.forgetIfIdle(line)
      }
    }
  }

  /** Each line may have slots free, and there be fewer calls left than that: then priority decides who gets them. */
  #limitOf(open: readonly OpenLine[]): number {
    const rooms = open.reduce((sum, { room }) => sum + room, 0)
    const free = open.reduce((sum, { line, free }) => sum + (line.calls ? free : 0), 0)
    return rooms - Math.max(0, free - this.#options.hand.freeCalls)
  }

  #openLines(): OpenLine[] {
    const { hand, lanes } = this.#options
    const now = performance.now()
    const open: OpenLine[] = []
    for (const [line, sides] of this.#byLine(
      lanes.sides.filter(({ isStrict, isLimited }) => !isStrict && !isLimited),
    )) {
      const free = hand.free(line)
      const room = free + hand.ahead(line)
      if (room <= 0 || (!line.hasBacklog && now - line.lookedAt < LOOK_EVERY_MS)) continue
      line.lookedAt = now
      open.push({ line, room, free, lanes: sides.map(({ id }) => id) })
    }
    return open
  }

  /** Side lanes of what is claimed into a free slot alone, where there is one, and how many there are. */
  withFreePlaces(): ReadonlyMap<number, number> {
    const { hand, lanes } = this.#options
    const free = new Map<number, number>()
    for (const [line, sides] of this.#byLine(
      lanes.sides.filter(({ isStrict, isLimited }) => isStrict || isLimited),
    )) {
      const places = hand.places(line)
      if (places > 0) for (const { id } of sides) free.set(id, Math.ceil(places / sides.length))
    }
    return free
  }

  /**
   * A slot of a line is kept as long as something waits that is claimed into a free slot alone: in its side lanes, or in the lane of a key,
   * of which `waitedFor` has the lines. `kept` were free when `occupied` was asked for; of the others nothing is known.
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
      const line = this.#options.hand.of(side.line)
      const lanes = byLine.get(line) ?? []
      lanes.push(side)
      byLine.set(line, lanes)
    }
    return byLine
  }
}
