/** Signing in at the dashboard, in a real browser and at a real provider. */
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { sql } from '../../src/store/database/sql.ts'
import { startBalancer } from '../support/balancer.ts'
import { PHONE, startBrowser, violationsOf } from '../support/browser.ts'
import { createTestDatabase } from '../support/database.ts'
import { startIdentityProvider } from '../support/identity-provider.ts'
import { request, startTestNode } from '../support/node.ts'

const ADMIN_KEY = 'an-admin-key-for-tests-of-enough-characters'
const { visit } = await startBrowser()
const database = await createTestDatabase()
// The address has to be known before the node that answers there.
const balancer = await startBalancer()
const provider = await startIdentityProvider(() => [`${balancer.url}/auth/callback`])
provider.accounts['ada'] = {
  email: 'ada@example.com',
  email_verified: true,
  name: 'Ada Lovelace',
  groups: ['dev'],
}
provider.accounts['bob'] = { email: 'bob@example.com', email_verified: true, name: 'Bob', groups: [] }
const node = await startTestNode(database, { adminKey: ADMIN_KEY, ...provider.flagsFor(balancer.url) })
balancer.servers.push(node.url)
const asAdmin = (method: string, path: string, body?: unknown) =>
  request(balancer.url, method, path, body, { authorization: `Bearer ${ADMIN_KEY}` })
await asAdmin('POST', '/v1/members', { group: 'dev', role: 'editor' })

/** Refusals until somebody is signed in, streams that end, and what the pages of the provider load. */
const EXPECTED =
  /401|404|asks elsewhere|ERR_(ABORTED|NAME_NOT_RESOLVED|INTERNET_DISCONNECTED|INCOMPLETE_CHUNKED_ENCODING)/

const open = (path: string, more: object = {}) =>
  visit(balancer.url + path, { colorScheme: 'light', expected: EXPECTED, ...more })

test('a company account leads in, back to the address, and out again', async () => {
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

test('a session that ends in the middle of work costs no word of it', async () => {
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

/** A page of somebody who is signed in with the key of the installation. */
async function openAsAdmin(path: string) {
  const { page } = await open(path)
  await page.getByRole('textbox', { name: 'API key' }).fill(ADMIN_KEY)
  await page.getByRole('button', { name: 'Sign in with this key' }).click()
  await page.getByRole('button', { name: /Signed in as/ }).waitFor()
  return page
}

/** Somebody at the pages of the provider. */
async function signIn(page: Page, login: string) {
  await page.getByRole('link', { name: 'Sign in with your company account' }).click()
  await page.getByPlaceholder('Enter any login').fill(login)
  await page.getByPlaceholder('and password').fill('any')
  await page.getByRole('button', { name: 'Sign-in' }).click()
  await page.getByRole('button', { name: 'Continue' }).click()
}

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
  await dialog.getByRole('button', { name: 'Rotate' }).click()
  await page.getByRole('region', { name: 'Key', exact: true }).waitFor()
  await page.getByRole('button', { name: 'Done' }).click()
  await list.getByRole('button', { name: 'Revoke deploy' }).nth(1).click()
  await dialog.getByRole('button', { name: 'Revoke' }).click()
  await list.getByText('revoked').waitFor()
  await page.evaluate('scrollTo(0, 0)')
  expect(await violationsOf(page)).toEqual([])

  expect(tasks.status).toBe(200)
  expect(body).toMatchObject({ name: 'deploy', project: 'shop' })
  expect(keys.items[0]).toMatchObject({
    name: 'deploy',
    networks: ['127.0.0.0/8', '::1/128'],
    limits: { requestRate: '100/m', maxAhead: null },
  })
})

test('a command that the dashboard shows names the project, and takes the key from the environment', async () => {
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

test('the header fits every width, also with a project of a long name and somebody signed in', async () => {
  const name = `p${'r'.repeat(60)}`
  await asAdmin('POST', '/v1/projects', { name })
  const page = await openAsAdmin('/tasks')
  await page.getByLabel('Project', { exact: true }).selectOption(name)
  await page.waitForURL(`${balancer.url}/`)
  await page.getByRole('button', { name: /Signed in as/ }).waitFor()
  const tooWide: number[] = []
  for (let width = 320; width <= 1_440; width += 32) {
    await page.setViewportSize({ width, height: 900 })
    if (Number(await page.evaluate('document.documentElement.scrollWidth')) > width) tooWide.push(width)
  }

  expect(tooWide).toEqual([])
})

test('members are added, changed and removed, and whoever has no role is told whom to ask', async () => {
  const bob = await open('/', { viewport: PHONE, colorScheme: 'dark' })
  await signIn(bob.page, 'bob')
  await bob.page.getByRole('heading', { name: 'You have no access yet' }).waitFor()
  await bob.page.getByText('belfry member add bob@example.com --role viewer').waitFor()
  expect(await violationsOf(bob.page)).toEqual([])

  const page = await openAsAdmin('/settings/members')
  const members = page.getByRole('list', { name: 'Members', exact: true })
  await members.getByText('dev').waitFor()
  await page.getByRole('button', { name: 'Add member' }).click()
  const panel = page.getByRole('dialog', { name: 'Add member' })
  await panel.getByText('Person', { exact: true }).click()
  await panel.getByLabel('Email address').fill('bob@example.com')
  await panel.getByRole('button', { name: 'Add member' }).click()
  await members.getByText('bob@example.com').waitFor()
  await members.getByRole('button', { name: 'Change role bob@example.com' }).click()
  await page.getByRole('dialog').getByLabel('Role').selectOption('operator')
  await page.getByRole('dialog').getByRole('button', { name: 'Change role' }).click()
  await members.getByText('operator').waitFor()
  // The header lies over what is scrolled under it.
  await page.evaluate('scrollTo(0, 0)')
  expect(await violationsOf(page)).toEqual([])

  await bob.page.getByRole('button', { name: 'Try again' }).click()
  await bob.page.getByRole('navigation', { name: 'Main' }).waitFor()
  // Neither buttons nor sections that an operator may not use.
  await bob.page.goto(`${balancer.url}/settings/secrets`)
  await bob.page.getByText('No secrets yet.').waitFor()
  expect(await bob.page.getByRole('button', { name: 'New secret' }).count()).toBe(0)
  expect(await bob.page.getByRole('link', { name: 'API keys' }).count()).toBe(0)
  await bob.page.goto(`${balancer.url}/settings/people`)
  await bob.page.getByText('You need the role admin of the installation').waitFor()
  expect(await violationsOf(bob.page)).toEqual([])
  await members.getByRole('button', { name: 'Remove bob@example.com' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Remove', exact: true }).click()
  await members.getByText('bob@example.com').waitFor({ state: 'detached' })
  await bob.page.reload()
  await bob.page.getByRole('heading', { name: 'You have no access yet' }).waitFor()
})

test('a role in every project is given, and a person is signed out everywhere', async () => {
  const page = await openAsAdmin('/settings/installation-members')
  const members = page.getByRole('list', { name: 'Members of all projects' })
  const dialog = page.getByRole('dialog')
  await page.getByRole('button', { name: 'Add member' }).click()
  await dialog.getByRole('textbox', { name: 'Group' }).fill('auditors')
  await dialog
    .getByText('in the group auditors when they sign in has the role viewer in every project')
    .waitFor()
  await dialog.getByRole('button', { name: 'Add member' }).click()
  await members.getByText('auditors').waitFor()
  expect(await violationsOf(page)).toEqual([])
  const { body: given } = await asAdmin('GET', '/v1/installation/members')
  const bob = await open('/')
  await signIn(bob.page, 'bob')
  await bob.page.getByRole('heading', { name: 'You have no access yet' }).waitFor()

  await page.getByRole('link', { name: 'People' }).click()
  const people = page.getByRole('list', { name: 'People' })
  await people.getByRole('button', { name: 'Sign out bob@example.com' }).click()
  await dialog.getByRole('button', { name: 'Sign out', exact: true }).click()
  await page.getByText(/bob@example.com was signed out: \d+ sessions? ended/).waitFor()
  await people.getByRole('button', { name: 'Sign out bob@example.com' }).waitFor({ state: 'detached' })
  await page.evaluate('scrollTo(0, 0)')
  expect(await violationsOf(page)).toEqual([])
  await bob.page.reload()
  await bob.page.getByRole('heading', { name: 'Sign in to Belfry' }).waitFor()

  expect(given.items).toMatchObject([{ group: 'auditors', role: 'viewer' }])
})

test('while the provider is down its page says so, and a key still leads in', async () => {
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
