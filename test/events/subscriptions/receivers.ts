/** Receivers that fail, are gone, must not be reached, or are another than before. */
import { expect, test } from 'vitest'
import { sql } from '../../../src/store/database/sql.ts'
import { saveFailed } from '../../../src/store/events/deliveries.ts'
import { eventually } from '../../support/eventually.ts'
import { startSharedSink } from '../../support/sink.ts'
import { runIdsOf, type Telling } from './telling.ts'

export function receivers({ db, node, create, trigger, subscribe, read }: Telling): void {
  test.concurrent('a refused event is sent again under the same id, before later events of its task', async () => {
    const failures = new Map<string, number>()
    const sink = await startSharedSink((hit) => {
      const id = String(hit.headers['webhook-id'])
      const count = failures.get(id) ?? 0
      failures.set(id, count + 1)
      return { status: count === 0 ? 503 : 204, headers: { 'retry-after': '0' } }
    })
    const taskId = await create()
    const subscription = await subscribe({ url: sink.url, filter: { taskIds: [taskId] } })
    const runs: string[] = []
    for (let i = 0; i < 3; i++) {
      const id = await trigger(taskId)
      await eventually(async () => (await node.request('GET', `/v1/runs/${id}`)).body.endedAt !== null)
      runs.push(id)
    }
    const failing = await eventually(async () => {
      const now = await read(subscription.id)
      return now.state === 'failing' ? now : undefined
    })
    await eventually(async () => (await read(subscription.id)).delivered >= 3)

    const ids = runIdsOf(sink.hits)
    expect(failing).toMatchObject({
      lastError: { code: 'http_status', message: expect.stringContaining('503') },
    })
    expect(ids.filter((id, i) => ids.indexOf(id) === i)).toEqual(runs)
    for (const [i, id] of runs.entries())
      if (i > 0) expect(ids.indexOf(id)).toBeGreaterThan(ids.lastIndexOf(runs[i - 1] as string))
  })

  test.concurrent('a 410 disables a subscription, which shows where it stopped and continues when resumed', async () => {
    let status = 410
    const sink = await startSharedSink(() => ({ status }))
    const taskId = await create()
    const { id, position } = await subscribe({ url: sink.url, filter: { taskIds: [taskId] } })
    const runId = await trigger(taskId)

    const disabled = await eventually(async () => {
      const now = await read(id)
      return now.state === 'disabled' ? now : undefined
    })
    const later = await trigger(taskId)
    status = 200
    const resumed = await node.request('POST', `/v1/subscriptions/${id}/resume`)
    await eventually(async () => runIdsOf(sink.hits).includes(later))
    await node.request('POST', `/v1/subscriptions/${id}/resume`, { after: position })
    await eventually(async () => runIdsOf(sink.hits).filter((hit) => hit === later).length === 2)

    expect(disabled).toMatchObject({
      disabledAt: expect.any(String),
      delivered: 0,
      lastError: { code: 'http_status', message: expect.stringContaining('410') },
    })
    expect(resumed.body).toMatchObject({ state: 'active', failures: 0, lastError: null })
    expect(runIdsOf(sink.hits)).toEqual([runId, runId, later, runId, later])
  })

  test.concurrent('an edit of a failing subscription is tried at once, even while an earlier message is in flight', async () => {
    const { id } = await subscribe({ url: 'http://127.0.0.1:1/', filter: { owners: ['nobody'] } })
    const held = await eventually(async () => {
      const [row] = await db.run(
        sql<{ fence: number }>`update subscription set failures = 7, failing_since = now()
                               where id = ${id} and holder is not null returning fence`,
      )
      return row
    })
    const error = { code: 'connect_refused', message: 'connection refused' }

    await node.request('PATCH', `/v1/subscriptions/${id}`, { name: 'mended' })
    const late = await db.run(
      saveFailed({ id, fence: held.fence, error, retryInMs: 300_000, isFinal: false }),
    )

    expect(late).toEqual([])
    expect(await read(id)).toMatchObject({ name: 'mended', retryAt: null })
  })

  test.concurrent('a subscription shows which events were deleted before they were delivered', async () => {
    const sink = await startSharedSink()
    const taskId = await create()
    const filter = { taskIds: [taskId] }
    const [begin] = await db.run(sql<{ at: number }>`
      with old as (update project set created_at = now() - interval '10 days' returning id),
      instant as (select id, date_trunc('second', now() - interval '2 hours') as at from old),
      deleted as (insert into retention (project_id, history_from, audit_log_from) select id, at, at from instant
                  returning project_id, history_from)
      select greatest(history_from, history_begin(project_id)) as at from deleted`)
    const to = new Date(begin?.at ?? 0).toISOString()
    const from = new Date(Date.now() - 3 * 86_400_000).toISOString()
    const withGap = (id: string) =>
      eventually(async () => {
        const now = await read(id)
        return now.gap !== null && now
      })

    const { id, gap: none, position: old } = await subscribe({ url: sink.url, filter, after: from })
    const behind = await withGap(id)
    const ofAuditLog = await subscribe({ url: sink.url, filter: { events: ['audit-log'] }, after: from })
    const auditLog = await withGap(ofAuditLog.id)
    const recent = await subscribe({ url: sink.url, filter })
    const runId = await trigger(taskId)
    await eventually(async () => runIdsOf(sink.hits).filter((hit) => hit === runId).length === 2)
    const moved = await eventually(async () => {
      const now = await read(id)
      return now.position !== old && now.delivered === 1 && now
    })
    const upToDate = await read(recent.id)
    // As if this task had been suspended three days ago.
    const held = [{ taskId, position: old, failures: 0, failingSince: 0, retryAt: 0, lastError: null }]
    await db.run(
      sql`update subscription set held = ${JSON.stringify(held)}::jsonb, fence = fence + 1 where id = ${recent.id}`,
    )
    const suspended = await withGap(recent.id)
    const after = { after: new Date().toISOString() }
    const resumed = await node.request('POST', `/v1/subscriptions/${id}/resume`, after)

    expect(none).toBeNull()
    expect(behind).toMatchObject({ state: 'active', gap: { from, to, at: expect.stringMatching(/Z$/) } })
    expect(moved.gap).toEqual(behind.gap)
    expect(auditLog.gap).toMatchObject({ from, to: expect.stringMatching(/Z$/) })
    expect(upToDate.gap).toBeNull()
    expect(suspended.gap).toMatchObject({ from, to })
    expect(resumed.body.gap).toBeNull()
  })

  test.concurrent('no event is sent to an address that is always forbidden', async () => {
    const taskId = await create()
    const { id } = await subscribe({ url: 'http://127.0.0.1:9', filter: { taskIds: [taskId] } })
    // As one that was stored before such addresses were refused.
    await db.run(
      sql`update subscription set url = 'http://169.254.169.254/latest', fence = fence + 1 where id = ${id}`,
    )
    await trigger(taskId)

    const disabled = await eventually(async () => {
      const now = await read(id)
      return now.state === 'disabled' ? now : undefined
    })

    expect(disabled.lastError).toMatchObject({ code: 'forbidden_address' })
  })

  test.concurrent('the delivering node applies an edit, and a deleted subscription gets no more events', async () => {
    const [before, after, witness] = [
      await startSharedSink(),
      await startSharedSink(),
      await startSharedSink(),
    ]
    const taskId = await create()
    const { id } = await subscribe({ url: before.url, filter: { taskIds: [taskId] } })
    await trigger(taskId)
    await eventually(async () => before.hits.length === 1)

    const { body } = await node.request('PATCH', `/v1/subscriptions/${id}`, { url: after.url, name: 'moved' })
    await eventually(
      async () => {
        await trigger(taskId)
        return after.hits.length > 0
      },
      { everyMs: 500 },
    )
    await subscribe({ url: witness.url, filter: { taskIds: [taskId] } })
    const removed = await node.request('DELETE', `/v1/subscriptions/${id}`)
    const runs: string[] = []
    // What was on its way may still arrive; of what another is told from then on, it hears nothing.
    const told = await eventually(
      async () => {
        const run = await trigger(taskId)
        runs.push(run)
        await eventually(async () => runIdsOf(witness.hits).includes(run))
        const last = runs.slice(-3)
        return last.length === 3 && !last.some((id) => runIdsOf(after.hits).includes(id)) && last
      },
      { otherwise: () => ({ runs, told: runIdsOf(after.hits) }) },
    )

    expect(body).toMatchObject({ id, name: 'moved', url: after.url })
    expect(removed.status).toBe(204)
    expect(runIdsOf(after.hits).filter((run) => told.includes(run ?? ''))).toEqual([])
    expect((await node.request('GET', `/v1/subscriptions/${id}`)).status).toBe(404)
  })
}
