/** Circuits of targets that open and close: told beside runs, to those who ask for them, in order. */
import { expect, test } from 'vitest'
import { DEFAULT_PROJECT_ID } from '../../../src/core/values/default-project.ts'
import { type CircuitChange, writeCircuits } from '../../../src/store/targets/target-circuits.ts'
import { aNode } from '../../support/agenda.ts'
import { openEvents } from '../../support/event-source.ts'
import { eventually } from '../../support/eventually.ts'
import { startSharedSink, startSink } from '../../support/sink.ts'
import type { Telling } from './telling.ts'

const ERROR = { code: 'connect_refused', message: 'nobody listens', at: 0 }

export function circuits({ db, node, create, trigger, subscribe, read }: Telling): void {
  /** As a worker stores what became of a circuit. */
  async function become(state: CircuitChange['state'], target: string, nodeId: string) {
    const [openedAt, until] = [Date.now(), state === 'open' ? Date.now() + 60_000 : null]
    const change = { projectId: DEFAULT_PROJECT_ID, target, state, openedAt, until, error: ERROR }
    await db.run(writeCircuits(nodeId, [change]))
  }

  test('circuit events go once to each subscription that asks for them, with or without runs', async () => {
    const sink = await startSink()
    const subjectsAt = (path: string) =>
      sink.hits
        .filter((hit) => hit.path === path)
        .map(({ body }) => JSON.parse(body) as { type: string; subject: string })
        .map(({ type, subject }) => `${type} ${subject}`)
    const target = 'https://told.example.com'
    const taskId = await create()
    const only = await subscribe({ url: `${sink.url}/only`, filter: { events: ['circuits'] } })
    const both = { events: ['runs', 'circuits'], taskIds: [taskId] }
    await subscribe({ url: `${sink.url}/both`, filter: both })
    await subscribe({ url: `${sink.url}/runs`, filter: { taskIds: [taskId] } })
    const stream = await openEvents(`${node.url}/v1/events?events=circuits`)
    const [one, two] = [await aNode(db), await aNode(db)]

    await become('open', target, one)
    await become('open', target, two)
    await become('closed', target, one)
    await become('closed', target, two)
    await trigger(taskId)
    await eventually(async () =>
      [
        ['/only', 2],
        ['/both', 3],
        ['/runs', 1],
      ].every(([path, count]) => subjectsAt(String(path)).length === count),
    )

    const [opened, closed] = ['opened', 'closed'].map((word) => `belfry.target.circuit_${word} ${target}`)
    expect(subjectsAt('/only')).toEqual([opened, closed])
    expect(subjectsAt('/both').filter((told) => told.includes(target))).toEqual([opened, closed])
    expect(subjectsAt('/runs')).toEqual([`belfry.run.completed ${taskId}`])
    const streamed = await stream.next('belfry.target.circuit_closed')
    expect(streamed.data).toMatchObject({
      subject: target,
      data: { target, circuit: { state: 'closed', nextProbeAt: null, error: { code: 'connect_refused' } } },
    })
    expect(stream.events.map(({ event }) => event)).toEqual([
      'hello',
      'belfry.target.circuit_opened',
      'belfry.target.circuit_closed',
    ])
    expect(await read(only.id)).toMatchObject({ lastEvent: { id: streamed.data.id }, state: 'active' })
  })

  test('a refused circuit event suspends only its target, and events of the target arrive in order later', async () => {
    let isRefused = true
    const [bad, good] = ['https://bad.example.com', 'https://good.example.com']
    const told: string[] = []
    const ids = new Set<string>()
    const sink = await startSharedSink(({ body }) => {
      const { id: eventId, type, subject } = JSON.parse(body)
      if (isRefused && subject === bad) return { status: 500 }
      // The edit below ends the lease of the delivery, which then repeats what it had not recorded yet.
      if (!ids.has(eventId)) told.push(`${subject} ${type.split('_')[1]}`)
      ids.add(eventId)
      return { status: 200 }
    })
    const { id } = await subscribe({ url: sink.url, filter: { events: ['circuits'] } })
    const nodeId = await aNode(db)

    await become('open', bad, nodeId)
    await become('open', good, nodeId)
    const failing = await eventually(async () => {
      const now = await read(id)
      return now.held.length === 1 && told.length === 1 ? now : undefined
    })
    await become('closed', bad, nodeId)
    await become('closed', good, nodeId)
    await eventually(async () => told.length === 2)
    isRefused = false
    await node.request('PATCH', `/v1/subscriptions/${id}`, { name: 'mended' })
    await eventually(async () => told.length === 4)

    expect(failing.held).toMatchObject([{ taskId: null, target: bad }])
    expect(told).toEqual([`${good} opened`, `${good} closed`, `${bad} opened`, `${bad} closed`])
    expect(await eventually(async () => (await read(id)).held.length === 0)).toBe(true)
  })
}
