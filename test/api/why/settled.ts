/** What people have settled about a task, and what should not happen: no next row, a scheduler that is behind. */
import { expect, test } from 'vitest'
import { sql } from '../../../src/store/database/sql.ts'
import { eventually } from '../../support/eventually.ts'
import { type Asking, HOURLY, iso, S } from './asking.ts'

export function settled({ db, api, aTask, why }: Asking): void {
  test('paused, now and in the past', async () => {
    const id = await aTask({ schedule: HOURLY })
    await api.request('POST', `/v1/tasks/${id}/pause`)

    const now = await why(id)
    const then = await why(id, Date.now())

    const { body: task } = await api.request('GET', `/v1/tasks/${id}`)
    expect(now).toMatchObject({ code: 'paused', facts: { since: task.pausedAt } })
    expect(then).toMatchObject({ code: 'paused', facts: { since: task.pausedAt } })
  })

  test('cancelled, now and in the past', async () => {
    const id = await aTask({ schedule: HOURLY })
    await api.request('POST', `/v1/tasks/${id}/cancel`)

    expect(await why(id)).toMatchObject({ code: 'cancelled', also: [] })
    expect(await why(id, Date.now())).toMatchObject({ code: 'cancelled' })
  })

  test('manual_only', async () => {
    const id = await aTask({ schedule: { type: 'manual' } })

    expect(await why(id)).toMatchObject({ code: 'manual_only' })
  })

  test('next_row_lost', async () => {
    const id = await aTask({ schedule: HOURLY })
    const { body: task } = await api.request('GET', `/v1/tasks/${id}`)
    await db.transaction(async (tx) => {
      // The audit of the node waits for this row, so it cannot put the other one back before we have asked.
      await tx.run(sql`select from audit_progress for update`)
      await tx.run(sql`update audit_progress set next_pass_at = now() + interval '1 hour'`)
      await tx.run(sql`delete from agenda where task_id = ${id}`)
    })

    const lost = await why(id)
    await db.run(sql`update audit_progress set next_pass_at = now(), walked_to = null`)
    const found = await eventually(async () => {
      const { body } = await api.request('GET', `/v1/findings?taskId=${id}`)
      return body.items[0]
    })

    expect(lost).toMatchObject({ code: 'next_row_lost', facts: { nextAt: task.nextFireAt } })
    expect(found).toMatchObject({ kind: 'next_row_lost', isRepaired: true, taskId: id })
    expect(await why(id)).toMatchObject({ code: 'not_due', facts: { nextAt: task.nextFireAt } })
  })

  test('starting, and scheduler_behind after a while', async () => {
    const id = await aTask({ schedule: { type: 'once', at: iso(Date.now()) } })
    await db.run(sql`update shard set owner = ${api.id}, watched_until = now() + interval '10 minutes'`)
    const dueSince = (ms: number) =>
      db.run(
        sql`update agenda set wake_at = now() - ${ms}::integer * interval '1 millisecond' where task_id = ${id}`,
      )
    await dueSince(0)
    const soon = await why(id)
    await dueSince(20 * S)
    const late = await why(id)
    await db.run(sql`update shard set owner = null, watched_until = now()`)

    expect(soon.code).toBe('starting')
    expect(late).toMatchObject({ code: 'scheduler_behind', facts: { shard: expect.any(Number) } })
  })
}
