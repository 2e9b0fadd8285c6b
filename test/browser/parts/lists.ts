/** Long lists of tasks, and the keyboard. */
import { expect, test } from 'vitest'
import type { TestBrowser } from '../../support/browser.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestServer } from './server.ts'

const COUNT = 1_000
/** As many as the list asks for at a time. */
const PAGE = 100

export async function lists({ visit }: TestBrowser, { node }: TestServer): Promise<void> {
  await node.request('POST', '/v1/tasks/bulk', {
    tasks: Array.from({ length: COUNT }, (_, n) => ({
      name: `task ${String(n).padStart(4, '0')}`,
      action: { type: 'sleep', duration: '1s' },
      schedule:
        n % 2 === 0
          ? { type: 'manual' }
          : { type: 'cron', expression: `${n % 60} 3 * * *`, timezone: 'Europe/Berlin' },
      tags: n % 10 === 0 ? ['tenth'] : [],
    })),
  })

  test('a list of a thousand tasks scrolls to its end and draws few rows', async () => {
    const { page } = await visit(`${node.url}/tasks`)
    const rows = page.locator('[role=row][data-index]')

    await rows.first().waitFor()
    await page.getByText('task 0999').waitFor()
    for (let loaded = PAGE; loaded < COUNT; loaded += PAGE) {
      await page.getByRole('status').getByText(`${loaded} of`).waitFor()
      await page.evaluate('scrollTo(0, document.body.scrollHeight)')
    }
    await page
      .getByRole('status')
      .getByText(/^1\s000 tasks$/)
      .waitFor()
    await page.evaluate('scrollTo(0, document.body.scrollHeight)')
    await page.getByText('task 0000').waitFor()

    expect(await rows.count()).toBeLessThan(60)
  })

  test('filters and the zone are part of the address, and Back restores them', async () => {
    const { page } = await visit(`${node.url}/tasks?q=task+0001&tz=utc&state=nonsense`)

    await page
      .getByRole('row')
      .getByText(/, 02:01 UTC|, 01:01 UTC/)
      .waitFor()
    await page.getByLabel('Show times in').selectOption('task')
    await page.getByRole('row').getByText(', 03:01 Berlin').waitFor()
    const inTaskZone = page.url()
    await page.getByLabel('Name or key').fill('task 012')
    await page.getByText('task 0121').waitFor()
    await page.getByLabel('Tag').fill('tenth')
    await page.getByText('task 0121').waitFor({ state: 'detached' })
    await page.getByText('task 0120').waitFor()
    const shown = await page.locator('[role=row][data-index]').count()
    await page.getByRole('link', { name: 'task 0120' }).click()
    await page.getByRole('heading', { name: 'task 0120' }).waitFor()
    await page.goBack()
    await page.getByText('task 0120').waitFor()
    await page.getByLabel('Tag').fill('none has it')
    await page.getByText('No tasks match these filters.').waitFor()

    expect(inTaskZone).not.toContain('tz=')
    expect(shown).toBe(1)
    expect(new URL(page.url()).searchParams.get('tag')).toBe('none has it')
    expect(await page.getByLabel('Name or key').inputValue()).toBe('task 012')
  })

  test('an empty page with a cursor is followed by the next page, and not shown as the result', async () => {
    let release = () => {}
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    let follow: (cursor: string) => void = () => {}
    const followed = new Promise<string>((resolve) => {
      follow = resolve
    })
    const empty = { items: [], nextCursor: 'WyJmYXIiXQ', partial: true }
    const { page } = await visit(`${node.url}/tasks?state=scheduled&q=task+0002`, {
      before: (opened) =>
        opened.route(/\/v1\/tasks\?/, async (route) => {
          const address = new URL(route.request().url())
          const cursor = address.searchParams.get('cursor')
          if (cursor === null) return route.fulfill({ json: empty })
          follow(cursor)
          await released
          address.searchParams.delete('cursor')
          return route.continue({ url: address.href })
        }),
    })

    const cursor = await followed
    const saidMeanwhile = await page.getByText('No tasks match these filters.').count()
    release()
    await page.getByText('task 0002').waitFor()

    expect(cursor).toBe(empty.nextCursor)
    expect(saidMeanwhile).toBe(0)
  })

  test('bulk actions include tasks that are not shown, and show their effects first', async () => {
    const { page } = await visit(`${node.url}/tasks?q=task+07&tag=tenth`)
    const bar = page.getByRole('region', { name: 'Actions for the selected tasks' })
    const states = async () => {
      const { body } = await node.request('GET', '/v1/tasks?q=task+07&tag=tenth')
      return body.items.map(({ state }: { state: string }) => state)
    }

    await page.getByLabel('Select all shown').check()
    await bar.getByText('10 selected').waitFor()
    await page.getByLabel('Select task 0790').uncheck()
    await bar.getByText('9 selected').waitFor()
    await bar.getByRole('button', { name: 'Pause' }).click()
    await page.getByText('9 tasks paused.').waitFor()
    const paused = await states()
    await page.getByRole('button', { name: 'Undo' }).click()
    await eventually(async () => !(await states()).includes('paused'))
    await bar.getByRole('button', { name: 'Delete…' }).click()
    await page
      .getByRole('dialog', { name: 'Delete 9 tasks?' })
      .getByText('They have no active runs.')
      .waitFor()
    await page.getByRole('dialog').getByLabel('Reason').fill('replaced by one task')
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByText('9 tasks deleted.').waitFor()
    const { body: log } = await node.request('GET', '/v1/audit-log?action=task.delete')
    await page.getByRole('status').getByText('1 task', { exact: true }).waitFor()

    expect(paused.filter((state: string) => state === 'paused')).toHaveLength(9)
    expect(await states()).toEqual(['scheduled'])
    expect(
      log.items.filter(({ reason }: { reason: string }) => reason === 'replaced by one task'),
    ).toHaveLength(9)
    expect(await bar.count()).toBe(0)

    await page.getByLabel('Tag').fill('')
    await page.getByLabel('Name or key').fill('00')
    await page.locator('[role=row][data-index="0"]').getByText('task 0900').waitFor()
    await page.getByLabel('Select all shown').check()
    await bar.getByText(`${PAGE} selected`).waitFor()
    await bar.getByRole('button', { name: 'Select all matching tasks' }).click()
    await bar.getByText(/\d+ selected, all that match/).waitFor()
    const [selected] = ((await bar.textContent()) ?? '').split(' ')
    await bar.getByRole('button', { name: 'Pause…' }).click()
    await page.getByRole('dialog').getByText('do not run until they are resumed').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Pause', exact: true }).click()
    await page.getByText(`${selected} tasks paused.`).waitFor()

    const { body } = await node.request('GET', '/v1/tasks?q=00&state=scheduled')
    expect(body.items).toEqual([])
    // 0000 to 0099, and 0100, 0200 to 0900; one of them was deleted above.
    expect([108, 109]).toContain(Number(selected))
  })

  test('every daily action has a keyboard shortcut', async () => {
    const { page } = await visit(node.url)
    const press = (...keys: string[]) =>
      keys.reduce((before, key) => before.then(() => page.keyboard.press(key)), Promise.resolve())

    await page.getByRole('heading').first().waitFor()
    await press('g', 't')
    await page.getByText('task 0999').waitFor()
    // Whoever comes by a link has the focus there: the keys mean the rows all the same.
    await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Tasks' }).focus()
    await press('j', 'j')
    await page.locator('[aria-selected=true]').getByText('task 0998').waitFor()
    const pointed = page.url()
    await press('x')
    await page.getByText('1 selected').waitFor()
    await press('x')
    await page.getByText('1 selected').waitFor({ state: 'detached' })
    await press('r')
    await page.getByText('task 0998 was triggered.').waitFor()
    await press('p')
    await page.getByText('task 0998 was paused.').waitFor()
    await press('Enter')
    await page.getByRole('heading', { name: 'task 0998' }).waitFor()
    await press('?')
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
    await press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    let arrive: (value?: unknown) => void = () => {}
    const onItsWay = new Promise((resolve) => {
      arrive = resolve
    })
    await page.route(/palette-.*\.js/, async (route) => {
      await onItsWay
      await route.continue()
    })
    // What is typed while the palette is still on its way is typed into it.
    await press('Control+k')
    await page.keyboard.type('task 0042')
    arrive()
    await expect.poll(() => page.getByRole('combobox', { name: 'Search' }).inputValue()).toBe('task 0042')
    await page.getByRole('option', { name: 'task 0042', selected: true }).waitFor()
    await press('Enter')
    await page.getByRole('heading', { name: 'task 0042' }).waitFor()
    await press('n')
    await page.getByRole('heading', { name: 'New task' }).waitFor()
    await press('g', 't')
    await page.getByText('task 0999').waitFor()
    await press('/')
    await page.keyboard.type('task 0500')
    await page.getByText('1 task', { exact: true }).waitFor()

    expect(page.url()).toContain('q=task+0500')
    await page.goto(pointed)
    await page.locator('[aria-selected=true]').getByText('task 0998').waitFor()
  })
}
