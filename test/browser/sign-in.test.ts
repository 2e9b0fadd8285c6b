/** Signing in at the dashboard, in a real browser and at a real provider. `details/members.scenario.ts` has what admins then do. */
import { expect, test } from 'vitest'
import { sql } from '../../src/store/database/sql.ts'
import { violationsOf } from '../support/browser.ts'
import { request, startTestNode } from '../support/node.ts'
import { ADMIN_KEY, signIn, startSignIn } from './parts/sign-in.ts'

const { database, balancer, provider, asAdmin, open, openAsAdmin } = await startSignIn()

test('a person signs in with a company account, returns to the requested page, and signs out', async () => {
  const { page } = await open('/tasks?tz=utc')

  await page.getByRole('heading', { name: 'Sign in to Belfry' }).waitFor()
  expect(await violationsOf(page)).toEqual([])
  await signIn(page, 'ada')
  await page.getByRole('heading', { name: 'Tasks' }).waitFor()
  expect(new URL(page.url()).search).toBe('?tz=utc')

  await page.getByRole('button', { name: 'Signed in as ada@example.com' }).click()
  await page.getByText('Ada Lovelace').waitFor()
  await page.getByText('editor of default').waitFor()
  expect(await violationsOf(page)).toEqual([])
  await page.getByRole('menuitem', { name: 'Sign out', exact: true }).click()
  await page.getByRole('heading', { name: 'Sign in to Belfry' }).waitFor()
  await page.goto(`${balancer.url}/tasks`)
  await page.getByRole('heading', { name: 'Sign in to Belfry' }).waitFor()
})

test('unsaved input survives the end of a session', async () => {
  const { page } = await open('/tasks/new')
  const key = async () => {
    await page.getByRole('textbox', { name: 'API key' }).fill(ADMIN_KEY)
    await page.getByRole('button', { name: 'Sign in with this key' }).click()
  }
  await page.getByRole('textbox', { name: 'API key' }).fill('bf_wrong')
  await page.getByRole('button', { name: 'Sign in with this key' }).click()
  await page.getByText('This API key is not valid here').waitFor()
  await key()
  await page.getByLabel('Name', { exact: true }).fill('written before the end')
  await page.getByText('Sleep', { exact: true }).click()

  await database.db.run(sql`delete from session`)
  await page.getByRole('heading', { name: 'Sign in to Belfry' }).waitFor()
  await key()

  await page.getByRole('heading', { name: 'New task' }).waitFor()
  expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('written before the end')
})

test('an admin creates a project, opens it, and creates, limits, rotates and revokes a key there', async () => {
  const page = await openAsAdmin('/settings/projects')

  await page.getByRole('button', { name: 'Create project' }).click()
  await page.getByRole('dialog').getByLabel('Name').fill('shop')
  await page.getByRole('dialog').getByRole('button', { name: 'Create project' }).click()
  await page.getByText('The project shop was created.').waitFor()
  await page.getByLabel('Project', { exact: true }).selectOption('shop')
  await page.waitForURL(`${balancer.url}/`)
  await page.goto(`${balancer.url}/settings/keys?panel=new`)
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name').fill('deploy')
  await dialog.getByLabel('Role').selectOption('viewer')
  await dialog.getByText('The key is valid in the project shop, with the role viewer.').waitFor()
  await dialog.getByText('Queues, networks and limits').click()
  await dialog.getByLabel('Networks').fill('127.0.0.0/8, ::1')
  expect(await violationsOf(page)).toEqual([])
  await dialog.getByRole('button', { name: 'Create key' }).click()
  const key = await page.getByRole('region', { name: 'Key', exact: true }).textContent()
  await page.getByRole('button', { name: 'Done' }).click()
  const withKey = (path: string) =>
    request(balancer.url, 'GET', path, undefined, { authorization: `Bearer ${key}` })
  const tasks = await withKey('/v1/tasks')
  const { body } = await withKey('/v1/me')

  const list = page.getByRole('list', { name: 'API keys' })
  await list.getByRole('button', { name: 'Limits deploy' }).click()
  await dialog.getByLabel('Request rate').fill('100/m')
  expect(await violationsOf(page)).toEqual([])
  await dialog.getByRole('button', { name: 'Save limits' }).click()
  await list.getByText('limits: 100/m requests').waitFor()
  const { body: keys } = await request(balancer.url, 'GET', '/v1/keys?limit=1', undefined, {
    authorization: `Bearer ${ADMIN_KEY}`,
    'belfry-project': 'shop',
  })
  await list.getByRole('button', { name: 'Rotate deploy' }).click()
  await dialog.getByText('The old key stays valid for').waitFor()
  await dialog.getByLabel('Keep the old key for').fill('2h')
  await dialog.getByLabel('New key expires').fill('2098-01-01T01:00')
  await dialog.getByText('The old key stays valid for 2 h.').waitFor()
  expect(await violationsOf(page)).toEqual([])
  await dialog.getByRole('button', { name: 'Rotate' }).click()
  await page.getByRole('region', { name: 'Key', exact: true }).waitFor()
  await page.getByRole('button', { name: 'Done' }).click()
  await list.getByRole('button', { name: 'Revoke deploy' }).nth(1).click()
  await dialog.getByLabel('Reason').fill('deployed elsewhere')
  await dialog.getByText('Equivalent commands').click()
  await dialog.getByText("--reason 'deployed elsewhere'").waitFor()
  expect(await violationsOf(page)).toEqual([])
  await dialog.getByRole('button', { name: 'Revoke' }).click()
  await list.getByText('revoked').waitFor()
  await page.evaluate('scrollTo(0, 0)')
  expect(await violationsOf(page)).toEqual([])
  await page.goto(`${balancer.url}/audit-log?action=key.revoke`)
  await page.getByRole('region', { name: 'Changes' }).getByText('deployed elsewhere').waitFor()

  const { body: rotated } = await request(balancer.url, 'GET', '/v1/keys?limit=2', undefined, {
    authorization: `Bearer ${ADMIN_KEY}`,
    'belfry-project': 'shop',
  })
  const lifeOf = (at: string) => Math.round((Date.parse(at) - Date.now()) / 3_600_000)
  expect(rotated.items.map(({ expiresAt }: { expiresAt: string }) => lifeOf(expiresAt))).toContain(2)
  expect(rotated.items).toContainEqual(expect.objectContaining({ expiresAt: '2098-01-01T00:00:00.000Z' }))
  expect(tasks.status).toBe(200)
  expect(body).toMatchObject({ name: 'deploy', project: 'shop' })
  expect(keys.items[0]).toMatchObject({
    name: 'deploy',
    networks: ['127.0.0.0/8', '::1/128'],
    limits: { requestRate: '100/m', maxAhead: null },
  })
})

test('a command in the dashboard names the project and reads the key from the environment', async () => {
  await asAdmin('POST', '/v1/projects', { name: 'stall' })
  const page = await openAsAdmin('/tasks')
  await page.getByLabel('Project', { exact: true }).selectOption('stall')
  await page.waitForURL(`${balancer.url}/`)
  await page.goto(`${balancer.url}/settings/members?panel=new`)
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('textbox', { name: 'Group' }).fill('platform team')
  await dialog.getByText('Equivalent commands').click()
  const text = await dialog.getByRole('region', { name: 'Equivalent commands' }).textContent()

  expect(text).toContain("belfry member add --group 'platform team' --role viewer --project stall\n")
  expect(text).toContain("-H 'belfry-project: stall'")
  expect(text).toContain('-H "authorization: Bearer $BELFRY_KEY"')
})

test('while the identity provider is down, the sign-in page shows it and accepts a key', async () => {
  await provider.stop()
  const down = await startTestNode(database, {
    roles: 'api',
    adminKey: ADMIN_KEY,
    ...provider.flagsFor(balancer.url),
  })
  balancer.servers.splice(0, 1, down.url)
  const { page } = await open('/sign-in?return=/runs')

  await page.getByRole('link', { name: 'Sign in with your company account' }).click()
  await page.getByRole('alert').getByText('The identity provider does not respond.').waitFor()
  await page.getByRole('textbox', { name: 'API key' }).fill(ADMIN_KEY)
  await page.getByRole('button', { name: 'Sign in with this key' }).click()
  await page.getByRole('heading', { name: 'Runs' }).waitFor()
})
