/**
 * Statements that the database carries out while their answers are lost on the wire, three every four seconds, under a node with work
 * that never pauses. A fire or a claim whose answer is lost leaves runs in the node's name that it does not know: how long
 * they stay there, how late runs begin because of it, and whether all of them are accounted for.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'vitest'
import { Client, type Wanted } from '../checker/client.ts'
import type { Change, Tables } from '../checker/evidence.ts'
import { expectSound } from '../checker/expect-sound.ts'
import { Nemesis } from '../checker/nemesis.ts'
import { recordChanges, untilEnded } from '../checker/observe.ts'
import { type Sink, startSink } from '../checker/sink.ts'
import { createTestDatabase } from '../support/database.ts'
import { type Belfry, startBelfry } from '../support/process.ts'
import { startProxy } from '../support/proxy.ts'

const CUT_EVERY_MS = 4_000
const CUT_AT_ONCE = 3
/** Statements by which a node takes on runs: fires and claims. */
const TAKES_RUNS = /(insert into|delete from) ready/
const LEAD_MS = 2_000
const ONE_OFFS_PER_SECOND = 50
const RECURRING = 20
/** What is held when the last answer was lost has to be found, and run. */
const PATIENCE_MS = 120_000

export interface Losses {
  readonly lostAnswers: number
  /** Runs that the node gave back because it had not heard of them. */
  readonly handedBack: number
  /** The longest that a run stood in the node's name until it was given back. */
  readonly longestHeldMs: number
  readonly worstLatenessMs: number
  readonly runs: number
}

const inMs = (ms: number) => new Date(Date.now() + ms).toISOString()

const workload = (sink: Sink, lengthMs: number): Wanted[] => [
  ...Array.from({ length: (lengthMs / 1_000) * ONE_OFFS_PER_SECOND }, (_, n) => ({
    key: `one-off-${n}`,
    body: {
      action: { type: 'webhook', url: sink.url(`one-off/${n}`) },
      schedule: { type: 'once', at: inMs(LEAD_MS + (n * 1_000) / ONE_OFFS_PER_SECOND) },
    },
  })),
  ...Array.from({ length: RECURRING }, (_, n) => ({
    key: `recurring-${n}`,
    body: {
      action: { type: 'webhook', url: sink.url(`recurring/${n}`) },
      schedule: { type: 'every', interval: '1s' },
      endAt: inMs(LEAD_MS + lengthMs),
      overlap: n % 2 === 0 ? 'allow' : 'skip',
    },
  })),
]

/** Loses answers for so long, and has all that came of it judged. */
export async function loseAnswers(lengthMs: number): Promise<Losses> {
  const { url } = await createTestDatabase()
  await recordChanges(url)
  const proxy = await startProxy(url)
  const node = await startBelfry(['--database-url', proxy.url])
  const sink = await startSink()
  const client = new Client(node.url)
  await client.createTogether(workload(sink, lengthMs))
  const nemesis = new Nemesis(url)

  const over = nemesis.note('lose_answers', [node.pid], PATIENCE_MS)
  for (let passedMs = 0; passedMs < lengthMs; passedMs += CUT_EVERY_MS) {
    proxy.loseAnswers(CUT_AT_ONCE, TAKES_RUNS)
    await delay(CUT_EVERY_MS)
  }
  over()

  const recurring = client.idsOf('recurring')
  await untilEnded(url, [...client.idsOf('one-off'), ...recurring], { withinMs: PATIENCE_MS })
  const tables = await expectSound({ url, client, sink, faults: nemesis.faults })
  for (const id of recurring) await expectComplete(node, id)
  const held = holdsGivenBack(tables)
  return {
    lostAnswers: proxy.lostAnswers,
    handedBack: held.length,
    longestHeldMs: Math.max(0, ...held),
    worstLatenessMs: Math.max(...sink.deliveries.map((it) => it.receivedAt - it.scheduledFor)),
    runs: tables.history.length,
  }
}

/** The ledger of a task knows what became of each of its occurrences. */
async function expectComplete(node: Belfry, taskId: string): Promise<void> {
  const { body } = await node.request('GET', `/v1/tasks/${taskId}/ledger`)
  expect(body, JSON.stringify(body)).toMatchObject({ isInOrder: true, accounted: body.expected })
}

/** For how long each run was in the node's name that went back without having begun. */
function holdsGivenBack({ changes }: Tables): number[] {
  const grants = new Map<string, Change>()
  return (changes ?? []).flatMap((change) => {
    const grant = grants.get(change.runId)
    if (change.to === 'running') grants.set(change.runId, change)
    else grants.delete(change.runId)
    return grant && change.to === 'pending' ? [change.at - grant.at] : []
  })
}
