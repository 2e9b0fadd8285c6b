import { describe, expect, test } from 'vitest'
import { LeasedQuota, type QuotaAnswer, type QuotaPolicy, type QuotaQuestion } from './leased-quota.ts'

interface Sent {
  admitted: boolean | null
  readonly at: number
}

/** What is late is let through, and owed. */
const LONGEST_WAIT_MS = 250

/** A bucket as the database keeps it, and nodes that ask it with some delay, on a clock that the test moves. */
class Simulation {
  now = 0
  readonly nodes: { readonly quota: LeasedQuota; waiting: Sent[]; isAsking: boolean }[]
  questions = 0
  readonly #policy: QuotaPolicy
  readonly #answerMs: number
  #nextAt = 0
  #answers: { readonly at: number; readonly deliver: () => void }[] = []

  constructor(policy: QuotaPolicy, nodes: number, answerMs = 2) {
    this.#policy = policy
    this.#answerMs = answerMs
    this.nodes = Array.from({ length: nodes }, () => ({
      quota: new LeasedQuota(policy, 0),
      waiting: [],
      isAsking: false,
    }))
  }

  /** One request on a node. It counts as admitted or refused once that is decided. */
  request(index: number): Sent {
    const sent: Sent = { admitted: null, at: this.now }
    const node = this.nodes[index] as Simulation['nodes'][number]
    const taking = node.quota.take(this.now)
    if (taking !== 'unknown') sent.admitted = taking === 'taken'
    else if (node.waiting.length >= this.#policy.burst) sent.admitted = false
    else node.waiting.push(sent)
    this.#askFor(node)
    return sent
  }

  /** Lets time pass. */
  pass(ms: number): void {
    this.now += ms
    for (const node of this.nodes) {
      for (const late of node.waiting.filter(({ at }) => this.now - at >= LONGEST_WAIT_MS)) {
        node.quota.lend()
        late.admitted = true
      }
      node.waiting = node.waiting.filter(({ admitted }) => admitted === null)
      this.#askFor(node)
    }
    const due = this.#answers.filter(({ at }) => at <= this.now)
    this.#answers = this.#answers.filter(({ at }) => at > this.now)
    for (const { deliver } of due) deliver()
  }

  #askFor(node: Simulation['nodes'][number]): void {
    const { quota } = node
    const waiting = [...node.waiting]
    if (node.isAsking || (waiting.length === 0 && !quota.shouldAsk(this.now))) return
    node.isAsking = true
    const question = quota.ask(this.now, waiting.length)
    const answer = this.#lease(question)
    this.questions++
    const deliver = () => {
      node.isAsking = false
      quota.answer(answer, question.wanted, this.now)
      for (const sent of waiting)
        if (sent.admitted === null) sent.admitted = quota.retake(this.now) === 'taken'
      node.waiting = node.waiting.filter(({ admitted }) => admitted === null)
      this.#askFor(node)
    }
    this.#answers.push({ at: this.now + this.#answerMs, deliver })
  }

  #lease({ owed, wanted }: QuotaQuestion): QuotaAnswer {
    const { gapMs, burst } = this.#policy
    const ahead = Math.max(0, Math.max(0, this.#nextAt - this.now) + owed * gapMs)
    const granted = Math.max(0, Math.min(wanted, Math.floor(burst - ahead / gapMs + 1e-6)))
    this.#nextAt = this.now + ahead + granted * gapMs
    const left = burst - ahead / gapMs - granted
    return { granted, left, opensInMs: Math.max(0, (1 - left) * gapMs) }
  }
}

/** Sends requests to nodes in turn at a rate, and returns how many were accepted. */
function send(simulation: Simulation, { perSecond, seconds }: { perSecond: number; seconds: number }) {
  const sent: Sent[] = []
  for (let ms = 0, owed = 0; ms < seconds * 1_000; ms++) {
    for (owed += perSecond / 1_000; owed >= 1; owed--)
      sent.push(simulation.request(sent.length % simulation.nodes.length))
    simulation.pass(1)
  }
  simulation.pass(5)
  return { sent: sent.length, admitted: sent.filter(({ admitted }) => admitted).length }
}

describe('over three nodes', () => {
  const policy = { gapMs: 5, burst: 200 }

  test('no request is refused below the limit, and few questions are asked', () => {
    const simulation = new Simulation(policy, 3)

    const { sent, admitted } = send(simulation, { perSecond: 190, seconds: 20 })

    expect(admitted).toBe(sent)
    expect(simulation.questions).toBeLessThan(sent / 3)
  })

  test.each([300, 2_000, 20_000])('%i requests a second come down to the limit', (perSecond) => {
    const simulation = new Simulation(policy, 3)
    send(simulation, { perSecond, seconds: 3 })

    const { admitted } = send(simulation, { perSecond, seconds: 10 })

    expect(admitted).toBeGreaterThan(10 * 200 * 0.97)
    expect(admitted).toBeLessThan(10 * 200 * 1.03)
  })

  test('requests that were borrowed at the start are deducted later', () => {
    const simulation = new Simulation(policy, 3)

    const { admitted } = send(simulation, { perSecond: 5_000, seconds: 5 })

    expect(admitted).toBeLessThanOrEqual(200 + 5 * 200 + 5)
  })
})

describe.each([2, 100, 300, 2_000])('with answers after %i ms', (answerMs) => {
  test.each([
    [2, 1_800_000, 3],
    [2, 1_800_000, 30],
    [10, 100, 30],
    [1, 1_000, 3],
  ])(
    'a quota of %i, plus one every %i ms, is enforced against %i requests a second',
    (burst, gapMs, perSecond) => {
      const [seconds, nodes] = [120, 3]
      const simulation = new Simulation({ burst, gapMs }, nodes, answerMs)

      const { admitted } = send(simulation, { perSecond, seconds })

      // Until a node has heard once, it lets through what could not be decided about in time.
      const unheard = nodes * (1 + burst) * Math.ceil((2 * answerMs) / LONGEST_WAIT_MS)
      expect(admitted).toBeLessThanOrEqual(burst + (seconds * 1_000) / gapMs + unheard)
    },
  )
})

test('a node remembers that the bucket is empty, even if it only reported borrowed requests', () => {
  const quota = new LeasedQuota({ gapMs: 1_800_000, burst: 2 }, 0)
  quota.lend()

  const question = quota.ask(0, 0)
  quota.answer({ granted: 0, left: -1, opensInMs: 3_600_000 }, question.wanted, 400)

  expect(question).toEqual({ owed: 1, wanted: 0 })
  expect(quota.take(420)).toBe('refused')
  expect(quota.take(3_600_000)).toBe('unknown')
})

test('a node returns leased requests that it does not use, and another node can use them', () => {
  const simulation = new Simulation({ gapMs: 1_000, burst: 4 }, 2)
  simulation.request(0)
  simulation.pass(600)
  simulation.pass(5)

  const burst = [1, 2, 3].map(() => {
    const result = simulation.request(1)
    simulation.pass(5)
    return result
  })

  expect(burst.map(({ admitted }) => admitted)).toEqual([true, true, true])
})

test('the first request is admitted at once, and an empty quota reports when it opens', () => {
  const quota = new LeasedQuota({ gapMs: 60_000, burst: 1 }, 0)

  expect(quota.take(0)).toBe('taken')
  const question = quota.ask(0, 0)
  quota.answer({ granted: 0, left: 0, opensInMs: 60_000 }, 1, 1)

  expect(question).toEqual({ owed: 1, wanted: 0 })
  expect(quota.take(10)).toBe('refused')
  expect(quota.opensInMs(10)).toBe(59_991)
  expect(quota.take(60_002)).toBe('taken')
})

test('requests are not counted while the database does not answer', () => {
  const quota = new LeasedQuota({ gapMs: 1_000, burst: 1 }, 0)
  quota.take(0)
  quota.ask(0, 0)

  quota.noAnswer(10)

  expect(quota.take(500)).toBe('taken')
  expect(quota.shouldAsk(500)).toBe(false)
  expect(quota.shouldAsk(1_100)).toBe(true)
})

test('a quota is idle after a while without requests, once the bucket is full again', () => {
  const quota = new LeasedQuota({ gapMs: 360_000, burst: 10 }, 0)
  quota.take(0)
  const { wanted } = quota.ask(0, 0)
  quota.answer({ granted: wanted, left: 9 - wanted, opensInMs: 0 }, wanted, 1)

  expect(quota.isIdle(61_000, 60_000)).toBe(false)
  expect(quota.isIdle(360_002, 60_000)).toBe(true)
})
