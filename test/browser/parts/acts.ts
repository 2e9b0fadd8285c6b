/** Actions on the page of a task: each panel shows its effects first, and the open panel is part of the address. */
import { expect, test } from 'vitest'
import { Worker } from '../../../src/sdk/worker.ts'
import type { TestBrowser } from '../../support/browser.ts'
import { eventually } from '../../support/eventually.ts'
import { startSink } from '../../support/sink.ts'
import type { TestServer } from './server.ts'

const HOUR_MS = 3_600_000

export function acts({ visit }: TestBrowser, { node }: TestServer): void {
  const create = async (task: object) => (await node.request('POST', '/v1/tasks', task)).body
  const read = async (id: string) => (await node.request('GET', `/v1/tasks/${id}`)).body
  const sleeping = (name: string) => ({
    name,
    action: { type: 'sleep', duration: '0s' },
    schedule: { type: 'every', interval: '1h', anchor: '2026-01-01T00:30:00Z' },
  })

  test('a pause has a reason and an end in the zone of the task, and shows how many occurrences it skips', async () => {
    const schedule = { type: 'cron', expression: '30 * * * *', timezone: 'America/New_York' }
    const { id } = await create({ ...sleeping('pause me'), schedule })
    const { page } = await visit(`${node.url}/tasks/${id}`)

    await page.getByRole('button', { name: 'Pause with a reason…' }).click()
    const panel = page.getByRole('dialog', { name: 'Pause pause me' })
    await panel.getByLabel('Reason').fill('the warehouse moves')
    await panel.getByRole('button', { name: '1 day' }).click()
    await panel.getByText(/2[45] occurrences will be recorded as skipped\./).waitFor()
    const until = await panel.getByLabel('Until (New York)').inputValue()
    const address = page.url()
    await panel.getByRole('button', { name: 'Pause', exact: true }).click()
    await page.getByText(/paused since .* until .*: the warehouse moves/).waitFor()

    expect(address).toContain('panel=pause')
    expect(page.url()).not.toContain('panel')
    const task = await read(id)
    expect(task).toMatchObject({ state: 'paused', pauseReason: 'the warehouse moves' })
    expect(Date.parse(task.resumeAt)).toBeGreaterThan(Date.now() + 23 * HOUR_MS)
    const inNewYork = new Date(task.resumeAt).toLocaleString('sv-SE', { timeZone: 'America/New_York' })
    expect(inNewYork).toBe(`${until.replace('T', ' ')}:00`)
  })

  test('the next occurrences are listed and skipped, and the skip is undone by keyboard', async () => {
    const { id } = await create(sleeping('skip me'))
    const { page } = await visit(`${node.url}/tasks/${id}?tab=upcoming`)

    await page.getByRole('button', { name: 'More actions' }).click()
    await page.getByRole('menuitem', { name: 'Skip next…' }).click()
    const panel = page.getByRole('dialog', { name: 'Skip the next occurrences of skip me' })
    await panel.getByLabel('Number of occurrences').fill('2')
    await panel.getByText('The first occurrence that runs is').waitFor()
    await panel.getByRole('button', { name: 'Skip 2' }).click()
    await page.getByText('skipped', { exact: true }).nth(1).waitFor()
    const skipped = await page.getByText('skipped', { exact: true }).count()
    const { skipNext } = await read(id)
    await page.getByRole('button', { name: 'More actions' }).focus()
    await page.keyboard.press('Enter')
    await page.keyboard.press('ArrowDown')
    await page.getByRole('menuitem', { name: 'Stop skipping…' }).press('Enter')
    await page.getByRole('dialog').getByRole('button', { name: 'Stop skipping' }).press('Enter')
    await page.getByText('skipped', { exact: true }).first().waitFor({ state: 'detached' })
    await page
      .locator('button:focus')
      .and(page.getByRole('button', { name: 'More actions' }))
      .waitFor()

    expect(skipped).toBe(2)
    expect(skipNext).not.toBeNull()
    expect((await read(id)).skipNext).toBeNull()
  })

  test('a run of a paused task is triggered with overrides', async () => {
    const sink = await startSink(() => ({ status: 200 }))
    const { id } = await create({
      name: 'run me otherwise',
      action: { type: 'webhook', url: sink.url, body: { day: 1 } },
      schedule: { type: 'manual' },
    })
    await node.request('POST', `/v1/tasks/${id}/pause`)
    const { page } = await visit(`${node.url}/tasks/${id}?panel=trigger`)
    const panel = page.getByRole('dialog', { name: 'Run run me otherwise now' })

    await panel.getByText('It uses the settings of the task.').waitFor()
    await panel.getByText('The task stays paused.').waitFor()
    await panel.getByLabel('Body').fill('{"day": 2}')
    await panel.getByText('Overrides for this run: action.').waitFor()
    await panel.getByRole('button', { name: 'Run now' }).click()
    await page.getByRole('link', { name: 'View run' }).click()
    await page.getByRole('region', { name: 'Overrides for this run' }).waitFor()
    await page.getByText('HTTP 200').first().waitFor()

    expect(sink.hits).toMatchObject([{ body: '{"day":2}' }])
    expect(await read(id)).toMatchObject({ state: 'paused', action: { body: { day: 1 } } })
  })

  test('a run is cancelled after its effects were shown, with a reason', async () => {
    const { id } = await create({ action: { type: 'sleep', duration: '1h' }, schedule: { type: 'manual' } })
    const { body: run } = await node.request('POST', `/v1/tasks/${id}/trigger`)
    const { page } = await visit(`${node.url}/runs/${run.id}`)

    await page.getByRole('button', { name: 'Cancel run…' }).click()
    const dialog = page.getByRole('dialog', { name: 'Cancel this run?' })
    await dialog.getByText('it is not attempted again').waitFor()
    await dialog.getByLabel('Reason').fill('wrong month')
    await dialog.getByRole('button', { name: 'Cancel run' }).click()
    await page.getByText('cancelled', { exact: true }).first().waitFor()

    const { body } = await node.request('GET', `/v1/audit-log?subject=${run.id}`)
    expect(body.items).toMatchObject([{ action: 'run.cancel', reason: 'wrong month' }])
  })

  test('a backfill is counted before it starts, and shows its progress', async () => {
    const { id } = await create(sleeping('fill me'))
    const { page } = await visit(`${node.url}/tasks/${id}?panel=backfill`, { expected: /422/ })
    const panel = page.getByRole('dialog', { name: 'Backfill fill me' })

    await panel.getByText(/^24 runs for 24 occurrences/).waitFor()
    await panel.getByLabel('Rate').fill('many')
    await panel.getByText('Some fields are invalid.').waitFor()
    await panel.getByLabel('Rate').fill('100/s')
    await panel.getByLabel('Run in parallel').check()
    await panel.getByRole('button', { name: 'Start 24 runs' }).click()
    await page.getByText(/24 occurrences: 24 completed/).waitFor()

    const { body } = await node.request('GET', `/v1/tasks/${id}/backfills`)
    expect(body.items).toMatchObject([{ rate: '100/s', overlap: 'allow', completed: 24 }])
    expect(page.url()).toContain('tab=backfills')
  })

  test('versions show their changes, and an earlier one is restored', async () => {
    const { id } = await create(sleeping('change me'))
    await node.request('PATCH', `/v1/tasks/${id}`, { timeout: '30s', reason: 'it took too long' })
    const { page } = await visit(`${node.url}/tasks/${id}?tab=versions`)
    const versions = page.getByRole('list', { name: 'Versions' })

    await versions.getByText('it took too long').waitFor()
    const current = await page.locator('[aria-label="Task sections"] [aria-current]').allTextContents()
    const changed = await page.getByRole('list', { name: 'Changes in version 2' }).textContent()
    await page.getByRole('button', { name: 'Roll back to 1…' }).click()
    const panel = page.getByRole('dialog', { name: 'Roll change me back to version 1?' })
    const changes = await panel.getByRole('list', { name: 'Changes' }).textContent()
    await panel.getByLabel('Reason').fill('it did not')
    await panel.getByRole('button', { name: 'Roll back', exact: true }).click()
    await versions.getByText('rollback to version 1').waitFor()

    expect(current).toEqual(['Versions'])
    expect(changed).toBe('timeout20m → 30s')
    expect(changes).toBe('timeout30s → 20m')
    expect(await read(id)).toMatchObject({ version: 3, timeout: '20m' })
  })

  test('the progress and the log of a handler are shown', async () => {
    const { id } = await create({
      name: 'in a worker',
      action: { type: 'handler', name: 'dashboard-test' },
      schedule: { type: 'manual' },
    })
    let open = () => {}
    const gate = new Promise<void>((resolve) => {
      open = resolve
    })
    const worker = new Worker({ server: node.url, log: () => {} })
    worker.handle('dashboard-test', async (_, ctx) => {
      ctx.log('begun')
      ctx.progress(0.25, 'a quarter')
      await gate
      ctx.log('nearly failed', 'warn')
      return { pages: 4 }
    })
    const working = worker.run()
    try {
      const { body: run } = await node.request('POST', `/v1/tasks/${id}/trigger`)
      const { page } = await visit(`${node.url}/runs/${run.id}`)

      await page.getByText('25 %').waitFor()
      await page.getByText('a quarter').waitFor()
      await page.getByText('begun').waitFor()
      open()
      const log = page.getByRole('region', { name: 'Log of the run' })
      await log.getByText('nearly failed').waitFor()
      await eventually(async () => (await page.getByText('25 %').count()) === 0)

      expect(await log.textContent()).toMatch(/info {4}begun\n.* warn {4}nearly failed$/)
    } finally {
      open()
      await worker.stop()
      await working
    }
  })
}
