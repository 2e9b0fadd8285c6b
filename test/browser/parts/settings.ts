/** The settings of the project are read and changed, a section at a time. */
import { expect, test } from 'vitest'
import type { TestBrowser } from '../../support/browser.ts'
import { eventually } from '../../support/eventually.ts'
import { startSink } from '../../support/sink.ts'
import type { TestServer } from './server.ts'

export function settings({ visit }: TestBrowser, { node }: TestServer): void {
  test('a secret is created and replaced, and deleting it shows what uses it', async () => {
    const { page } = await visit(`${node.url}/settings/secrets`)
    const list = page.getByRole('list', { name: 'Secrets' })
    await page.getByRole('button', { name: 'New secret' }).click()
    const panel = page.getByRole('dialog', { name: 'New secret' })
    await panel.getByLabel('Name').fill('SEEN_NOWHERE')
    await panel.getByLabel('Value', { exact: true }).fill('canary-of-the-browser')
    await panel.getByRole('button', { name: 'Save secret' }).click()
    await list.getByText('version 1').waitFor()
    const action = { type: 'ping', url: 'https://example.com/{{secret.SEEN_NOWHERE}}' }
    const { body: task } = await node.request('POST', '/v1/tasks', {
      name: 'user of it',
      action,
      schedule: { type: 'manual' },
    })
    await list.getByRole('button', { name: 'New value SEEN_NOWHERE' }).click()
    await page.getByLabel('Value', { exact: true }).fill('canary-again')
    await page.getByRole('button', { name: 'Set value' }).click()
    await list.getByText('version 2').waitFor()
    await list.getByRole('button', { name: 'Delete SEEN_NOWHERE' }).click()
    const dialog = page.getByRole('dialog')
    const remove = dialog.getByRole('button', { name: 'Delete', exact: true })
    await dialog.getByText('It is used by one task of this project:').waitFor()
    const [users] = await dialog.getByRole('list', { name: 'Used by' }).getByRole('link').all()
    const target = await users?.getAttribute('href')
    const isOffered = await remove.isEnabled()
    await dialog.getByLabel('Delete it although it is used').check()
    await dialog.getByLabel('Reason').fill('leaked')
    await remove.click()
    await list.getByText('SEEN_NOWHERE').waitFor({ state: 'detached' })

    expect([target, isOffered]).toEqual([`/tasks/${task.id}`, false])
    expect(await page.content()).not.toContain('canary')
    const { body: log } = await node.request('GET', '/v1/audit-log?action=secret.delete')
    expect(log.items[0]).toMatchObject({ subject: { id: 'SEEN_NOWHERE' }, reason: 'leaked' })
  })

  test('the value of a secret can have several lines, and is neither shown nor kept in the browser', async () => {
    const sink = await startSink()
    const pem = '-----BEGIN PRIVATE KEY-----\nMIIcanary/+==\n-----END PRIVATE KEY-----'
    const { page } = await visit(`${node.url}/settings/secrets?panel=new`)
    const panel = page.getByRole('dialog', { name: 'New secret' })
    const value = panel.getByLabel('Value', { exact: true })
    const field = "document.querySelector('[role=dialog] textarea')"
    const looks = () => page.evaluate(`getComputedStyle(${field}).getPropertyValue('-webkit-text-security')`)

    await panel.getByLabel('Name').fill('TLS_KEY')
    await value.fill('begun')
    await panel.getByLabel('Several lines').check()
    const carried = await value.inputValue()
    await value.fill(`${pem}\n`)
    const hidden = await looks()
    await panel.getByLabel('Show the value').check()
    const shown = await looks()
    const isLocked = await panel.getByLabel('Several lines').isDisabled()
    const stored = await page.evaluate('JSON.stringify([{ ...sessionStorage }, { ...localStorage }])')
    await panel.getByRole('button', { name: 'Save secret' }).click()
    await page.getByRole('list', { name: 'Secrets' }).getByText('TLS_KEY').waitFor()
    await node.request('POST', '/v1/tasks', {
      action: { type: 'http', method: 'POST', url: sink.url, body: '{{secret.TLS_KEY}}' },
    })
    await eventually(async () => sink.hits.length > 0)

    expect({ carried, hidden, shown, isLocked }).toEqual({
      carried: 'begun',
      hidden: 'disc',
      shown: 'none',
      isLocked: true,
    })
    expect(stored).not.toContain('canary')
    expect(await page.content()).not.toContain('canary')
    expect(sink.hits[0]).toMatchObject({ body: pem })
    await node.request('DELETE', '/v1/secrets/TLS_KEY')
  })

  test('several lines that are pasted into the field for one line stay several lines', async () => {
    const { page } = await visit(`${node.url}/settings/secrets?panel=new`)
    const value = page.getByRole('dialog').getByLabel('Value', { exact: true })

    await value.fill('ab')
    await value.press('ArrowLeft')
    await page.evaluate(`
      const clipboardData = new DataTransfer()
      clipboardData.setData('text', 'one\\r\\ntwo')
      document.activeElement.dispatchEvent(
        new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }))`)
    await page.getByLabel('Show the value').waitFor()
    await page.keyboard.type('!')

    expect(await value.inputValue()).toBe('aone\ntwo!b')
  })

  test('a secret that gets a user while its dialog is open is not deleted, and the user is shown', async () => {
    await node.request('PUT', '/v1/secrets/TAKEN_MEANWHILE', { value: 'a value' })
    const { page } = await visit(`${node.url}/settings/secrets`, { expected: /409/ })
    const dialog = page.getByRole('dialog')
    await page.getByRole('button', { name: 'Delete TAKEN_MEANWHILE' }).click()
    await dialog.getByText('Nothing uses it.').waitFor()
    const server = 'smtp://shop:{{secret.TAKEN_MEANWHILE}}@mail.example.com:587'
    await node.request('PATCH', '/v1/projects/default', { mail: { server } })
    await dialog.getByRole('button', { name: 'Delete', exact: true }).click()
    await dialog.getByText('It is used by the mail settings of this project:').waitFor()
    await node.request('PATCH', '/v1/projects/default', { mail: { server: null } })
    await dialog.getByRole('link', { name: 'mail settings' }).click()
    await page.getByRole('button', { name: 'Save mail settings' }).waitFor()

    expect(await dialog.count()).toBe(0)
    expect((await node.request('DELETE', '/v1/secrets/TAKEN_MEANWHILE')).status).toBe(204)
  })

  test('limits are changed, and an invalid limit is reported at its field', async () => {
    const { page } = await visit(`${node.url}/settings/limits`, { expected: /422/ })
    const save = () => page.getByRole('button', { name: 'Save limits' }).click()

    await page.getByLabel('Minimum interval between runs').fill('often')
    await save()
    await page.getByLabel('Minimum interval between runs').and(page.locator('[aria-invalid=true]')).waitFor()
    await page.getByLabel('Minimum interval between runs').fill('1s')
    await page.getByLabel('Maximum time ahead').fill('365d')
    await page.getByLabel('Maximum number of tasks', { exact: true }).fill('1000000')
    await page.getByLabel('Reason').fill('a load test')
    await save()
    await page.getByText('Limits saved.').waitFor()
    await page.getByText(/^[\d\s]+ of 1\s000\s000 used$/).waitFor()

    const { body } = await node.request('GET', '/v1/projects/default')
    expect(body.limits).toMatchObject({ minPeriod: '1s', maxAhead: '365d', maxTasks: 1_000_000 })
    const { body: log } = await node.request('GET', '/v1/audit-log?action=project.edit')
    expect(log.items[0]).toMatchObject({ reason: 'a load test' })
    const none = { minPeriod: null, maxAhead: null, maxTasks: null }
    await node.request('PATCH', '/v1/projects/default', { limits: none })
  })

  test('mail settings are changed, and a password that is not a secret is refused at its field', async () => {
    const { page } = await visit(`${node.url}/settings/mail`, { expected: /422/ })
    const save = () => page.getByRole('button', { name: 'Save mail settings' }).click()
    const server = 'smtp://shop:{{secret.SMTP_PASSWORD}}@mail.example.com:587'

    await page.getByLabel('Mail server').fill('smtp://shop:plain@mail.example.com:587')
    await save()
    await page.getByText('its password must be a secret').waitFor()
    await page.getByLabel('Mail server').fill(server)
    await save()
    await page.getByText('Mail settings saved.').waitFor()

    const { body } = await node.request('GET', '/v1/projects/default')
    expect(body.mail).toEqual({ from: null, replyTo: null, server })
    await node.request('PATCH', '/v1/projects/default', { mail: { server: null } })
  })

  test('private networks are restricted, and an invalid network is reported at its field', async () => {
    const { page } = await visit(`${node.url}/settings/network`, { expected: /422/ })
    const reach = page.getByLabel('Private networks that can be reached')
    const save = page.getByRole('button', { name: 'Save network settings' })
    const field = (number: number) => page.getByLabel(`Network ${number}`, { exact: true })

    await reach.selectOption('Only these networks')
    await field(1).fill('10.1.0.0/16')
    await page.getByRole('button', { name: 'Add network' }).click()
    await page.getByRole('button', { name: 'Add network' }).click()
    await page.keyboard.type('office')
    await save.click()
    await field(3).and(page.locator('[aria-invalid=true]')).waitFor()
    await page.getByText('must be a network such as').waitFor()
    await page.getByRole('button', { name: 'Remove network 1' }).click()
    await field(2).and(page.locator('[aria-invalid=true]')).waitFor()
    await field(2).fill(' 10.2.0.7')
    await save.click()
    await page.getByText('Network settings saved.').waitFor()
    const narrowed = (await node.request('GET', '/v1/projects/default')).body.network
    await reach.selectOption('All that the installation allows')
    await save.click()
    await page.getByLabel('Network 1', { exact: true }).waitFor({ state: 'detached' })
    await eventually(async () => {
      const { network } = (await node.request('GET', '/v1/projects/default')).body
      return network.allowedPrivate === null
    })

    expect(narrowed).toEqual({ allowedPrivate: ['10.2.0.7/32'] })
  })

  test('archiving a project and restoring it ask for the reason', async () => {
    await node.request('POST', '/v1/projects', { name: 'resting' })
    const { page } = await visit(`${node.url}/settings/projects?q=resting`)
    const list = (name: string) => page.getByRole('list', { name, exact: true })
    const dialog = page.getByRole('dialog')

    await list('Projects').getByRole('button', { name: 'Archive resting' }).click()
    await dialog.getByLabel('Reason').fill('not needed now')
    await dialog.getByRole('button', { name: 'Archive', exact: true }).click()
    await list('Archived projects').getByRole('button', { name: 'Restore resting' }).click()
    await dialog.getByText('recorded as skipped').waitFor()
    await dialog.getByLabel('Reason').fill('needed again')
    await dialog.getByRole('button', { name: 'Restore', exact: true }).click()
    await list('Projects').getByText('resting').waitFor()

    const { body: log } = await node.request('GET', '/v1/audit-log?scope=installation&limit=2')
    expect(log.items).toMatchObject([
      { action: 'project.restore', reason: 'needed again' },
      { action: 'project.archive', reason: 'not needed now' },
    ])
  })

  test('signing secrets are shown once, rotated and revoked, and an invalid origin is refused', async () => {
    const { page } = await visit(`${node.url}/settings/signing-secrets?panel=new`, { expected: /422/ })
    const list = page.getByRole('list', { name: 'Signing secrets' })
    const panel = page.getByRole('dialog', { name: 'New signing secret' })
    const once = page.getByRole('region', { name: 'Secret', exact: true })
    const done = () => page.getByRole('button', { name: 'Done' }).click()

    await panel.getByLabel('Origin').fill('hooks.example.com/x')
    await panel.getByRole('button', { name: 'Create secret' }).click()
    await panel.getByLabel('Origin').and(page.locator('[aria-invalid=true]')).waitFor()
    await panel.getByLabel('Origin').fill('https://Hooks.example.com')
    await panel.getByRole('button', { name: 'Create secret' }).click()
    const first = await once.textContent()
    await done()
    await list.getByText('in use').waitFor()
    await list.getByRole('button', { name: 'Rotate https://hooks.example.com' }).click()
    await page.getByLabel('Keep the old secret for').fill('2h')
    await page.getByRole('button', { name: 'Rotate', exact: true }).click()
    const second = await once.textContent()
    await done()
    await list.getByText('rotated').waitFor()
    const { body } = await node.request('GET', '/v1/signing-secrets')
    const revoke = async ({ id }: { id: string }, words: string) => {
      await list.getByRole('button', { name: `Revoke https://hooks.example.com ${id}` }).click()
      await page.getByRole('dialog').getByText(words).waitFor()
      await page.getByRole('dialog').getByRole('button', { name: 'Revoke', exact: true }).click()
      await list.getByText(id).waitFor({ state: 'detached' })
    }
    await revoke(body.items[0], 'are signed with the other secret only')
    await revoke(body.items[1], 'are no longer signed')
    await page.getByText('No signing secrets yet').waitFor()

    expect([first, second]).toEqual([expect.stringMatching(/^whsec_/), expect.stringMatching(/^whsec_/)])
    expect(body.items).toMatchObject([
      { origin: 'https://hooks.example.com', expiresAt: null },
      { origin: 'https://hooks.example.com', expiresAt: expect.any(String) },
    ])
    expect(await page.content()).not.toContain('whsec_')
  })

  test('a dialog stays open until the server has answered, so that a new secret is always shown', async () => {
    await node.request('POST', '/v1/signing-secrets', {})
    let answer = () => {}
    const isHeld = new Promise<void>((resolve) => {
      answer = resolve
    })
    const { page } = await visit(`${node.url}/settings/signing-secrets`, {
      before: (opened) =>
        opened.route('**/v1/signing-secrets/rotate', async (route) => {
          await isHeld
          await route.continue()
        }),
    })
    const dialog = page.getByRole('dialog')

    await page.getByRole('button', { name: /^Rotate/ }).click()
    await dialog.getByRole('button', { name: 'Rotate', exact: true }).click()
    await page.locator('button[data-loading]').waitFor()
    await page.keyboard.press('Escape')
    await dialog.getByRole('button', { name: 'Close' }).click()
    const canCancel = await dialog.getByRole('button', { name: 'Cancel' }).isEnabled()
    answer()
    const secret = await page.getByRole('region', { name: 'Secret', exact: true }).textContent()
    await page.getByRole('button', { name: 'Done' }).click()
    await dialog.waitFor({ state: 'detached' })

    expect(canCancel).toBe(false)
    expect(secret).toMatch(/^whsec_/)
    const { body } = await node.request('GET', '/v1/signing-secrets')
    for (const { id } of body.items) await node.request('DELETE', `/v1/signing-secrets/${id}`)
  })

  test('the encryption key is shown with its nodes, and rotated', async () => {
    await node.request('PUT', '/v1/secrets/SEALED', { value: 'encrypted' })
    const { page } = await visit(`${node.url}/settings/encryption-keys`)
    const { keys, nodes } = (await node.request('GET', '/v1/secrets-key')).body
    const listed = (name: string) => page.getByRole('list', { name, exact: true })
    await listed('Encryption keys').getByText(keys[0].fingerprint).waitFor()
    await listed('Encryption keys').getByText('in use').waitFor()
    await listed('Nodes').getByText(nodes[0].name).waitFor()
    await page.getByRole('button', { name: 'Rotate…' }).click()
    await page.getByRole('dialog').getByText(`encrypted with the key ${keys[0].fingerprint}`).waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Rotate', exact: true }).click()
    const result = page.getByRole('dialog', { name: 'Encryption key rotated' })

    await result.getByText(`0 values were encrypted with the key ${keys[0].fingerprint}.`).waitFor()
    await result.getByText('This rotation did not free any key for removal.').waitFor()
    await result.getByRole('button', { name: 'Done' }).click()
    await node.request('DELETE', '/v1/secrets/SEALED')
  })

  test('the retention is changed, and an invalid retention is reported at its field', async () => {
    const { page } = await visit(`${node.url}/settings/retention`, { expected: /422/ })
    const save = () => page.getByRole('button', { name: 'Save retention' }).click()

    await page.getByLabel('History').fill('12h')
    await save()
    await page.getByText('must be from 1d to 36500d').waitFor()
    await page.getByLabel('History').fill('90d')
    await save()
    await page.getByText('Retention saved.').waitFor()

    const { body } = await node.request('GET', '/v1/projects/default')
    expect(body.retention).toEqual({ history: '90d', auditLog: null })
    await node.request('PATCH', '/v1/projects/default', { retention: { history: null } })
  })

  test('a weekly blackout is created and removed', async () => {
    const { page } = await visit(`${node.url}/settings`)
    await page.waitForURL(/\/settings\/blackouts$/)
    const blackouts = page.getByRole('list', { name: 'Blackouts' })
    await page.getByRole('button', { name: 'New blackout' }).click()
    const panel = page.getByRole('dialog', { name: 'New blackout' })
    await panel.getByLabel('Name').fill('weekends')
    await panel.getByText('Every week').click()
    await panel.getByText('Sat', { exact: true }).click()
    await panel.getByText('Sun', { exact: true }).click()
    await panel.getByText('Sat, Sun from 22:00 to 06:00 · Berlin: no scheduled runs').waitFor()
    await panel.getByRole('button', { name: 'Create blackout' }).click()
    await blackouts.getByText('weekends').waitFor()
    const set = (await node.request('GET', '/v1/blackouts')).body
    await blackouts.getByRole('button', { name: 'Remove weekends' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove', exact: true }).click()
    await blackouts.getByText('weekends').waitFor({ state: 'detached' })

    expect(set.items).toMatchObject([
      { name: 'weekends', window: { type: 'weekly', days: ['sat', 'sun'], timezone: 'Europe/Berlin' } },
    ])
  })

  test('a subscription shows its secret once, and the state failing when its deliveries fail', async () => {
    const sink = await startSink(() => ({ status: 500 }))
    const { page } = await visit(`${node.url}/settings/subscriptions`)
    const list = page.getByRole('list', { name: 'Subscriptions' })
    await page.getByRole('button', { name: 'New subscription' }).click()
    await page.getByLabel('URL', { exact: true }).fill(sink.url)
    await page.getByLabel('Name', { exact: true }).fill('who is told')
    await page.getByRole('button', { name: 'Subscribe' }).click()
    const secret = await page.getByRole('region', { name: 'Secret', exact: true }).textContent()
    await page.getByRole('button', { name: 'Done' }).click()
    await list.getByText('active').waitFor()
    await node.request('POST', '/v1/tasks', { action: { type: 'sleep', duration: '0s' } })
    await eventually(
      async () => (await node.request('GET', '/v1/subscriptions')).body.items[0].state === 'failing',
      { withinMs: 30_000 },
    )
    await page.reload()
    await list.getByText('failing').waitFor()
    await list.getByRole('button', { name: 'Delete who is told' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByText('No subscriptions yet.').waitFor()

    expect(secret).toMatch(/^whsec_/)
    expect((await node.request('GET', '/v1/subscriptions')).body.items).toEqual([])
  })

  test('a subscription can be limited to one kind of change, and Back keeps the input of its panel', async () => {
    const sink = await startSink()
    const { page } = await visit(`${node.url}/settings/subscriptions`)
    const panel = page.getByRole('dialog', { name: 'New subscription' })
    await page.getByRole('button', { name: 'New subscription' }).click()
    await panel.getByLabel('URL', { exact: true }).fill(sink.url)
    await page.goBack()
    await panel.waitFor({ state: 'detached' })
    await page.goForward()
    await panel.getByText('Your unsaved changes were restored.').waitFor()
    await panel.getByLabel('Events').selectOption('changes')
    await panel.getByLabel('Changes', { exact: true }).first().fill('queue.p')
    await page.getByRole('option', { name: 'queue.pause' }).click()
    await page.keyboard.press('Escape')
    await page.getByRole('option', { name: 'key.create' }).waitFor({ state: 'hidden' })
    await panel.getByText('each change in the audit log of this project of the kind queue.pause').waitFor()
    await panel.getByRole('button', { name: 'Subscribe' }).click()
    await page.getByRole('button', { name: 'Done' }).click()
    const list = page.getByRole('list', { name: 'Subscriptions' })
    await list.getByText('changes in the audit log: queue.pause').waitFor()

    await node.request('POST', '/v1/queues/watched/pause')
    await node.request('POST', '/v1/queues/watched/resume')

    await eventually(async () => sink.hits.length > 0, { withinMs: 30_000 })
    const { body } = await node.request('GET', '/v1/subscriptions')
    expect(body.items[0].filter).toEqual({ events: ['audit-log'], actions: ['queue.pause'] })
    await node.request('DELETE', `/v1/subscriptions/${body.items[0].id}`)
  })

  test('the audit log finds a change and shows its reason and the values before and after', async () => {
    const { body: task } = await node.request('POST', '/v1/tasks', {
      name: 'audited',
      action: { type: 'sleep', duration: '1s' },
      schedule: { type: 'manual' },
    })
    await node.request('PATCH', `/v1/tasks/${task.id}`, { timeout: '5m', reason: 'it takes longer' })
    const { page } = await visit(`${node.url}/settings`)

    await page.getByRole('link', { name: 'Audit log' }).click()
    await page.getByLabel('Change', { exact: true }).selectOption('task.edit')
    await page.getByLabel('ID of task, queue, key …').fill(task.id)
    await page.waitForURL(new RegExp(`action=task.edit.*subject=${task.id}`))
    await page.getByText('it takes longer').waitFor()
    await page.getByRole('link', { name: 'task.edit' }).click()

    const changes = page.getByRole('list', { name: 'Before and after' })
    expect(await changes.textContent()).toMatch(/timeout20m → 5m/)
    await page.getByRole('link', { name: 'All its changes' }).click()
    await page.getByRole('link', { name: 'task.create' }).waitFor()
  })

  test('the audit log is limited to a range between two instants, which the address keeps', async () => {
    const task = async (name: string) =>
      (await node.request('POST', '/v1/tasks', { name, action: { type: 'sleep', duration: '1s' } })).body
    const { id } = await task('in the range')
    const { page } = await visit(`${node.url}/audit-log?subject=${id}`)
    const row = page.getByRole('region', { name: 'Changes' }).getByText('in the range')
    const inBerlin = (at: number) =>
      new Date(at).toLocaleString('sv-SE', { timeZone: 'Europe/Berlin' }).slice(0, 16)
    const [before, after] = [Date.now() - 120_000, Date.now() + 120_000].map(inBerlin)

    await row.waitFor()
    await page.getByLabel('Time range').selectOption('Between …')
    await page.getByLabel('To, exclusive (Berlin)').fill(before?.replace(' ', 'T') ?? '')
    await page.getByText('No changes match these filters.').waitFor()
    await page.getByLabel('To, exclusive (Berlin)').fill(after?.replace(' ', 'T') ?? '')
    await row.waitFor()
    await page.getByLabel('From (Berlin)').fill(before?.replace(' ', 'T') ?? '')
    await page.waitForURL(/since=between.*from=/)
    await page.reload()
    await row.waitFor()
    const search = new URL(page.url()).searchParams
    await page.getByLabel('Time range').selectOption('Last hour')
    await row.waitFor()

    expect(Date.parse(search.get('to') ?? '') - Date.parse(search.get('from') ?? '')).toBe(240_000)
    expect(page.url()).not.toMatch(/from=|to=/)
  })
}
