/** What admins do for others, in a real browser and at a real provider: members, roles in every project, signing people out. */
import { expect, test } from 'vitest'
import { PHONE, violationsOf } from '../../support/browser.ts'
import { signIn, startSignIn } from '../parts/sign-in.ts'

const { balancer, asAdmin, open, openAsAdmin } = await startSignIn()

test('the header fits every width, even with a long project name and a signed-in user', async () => {
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

test('members are added, changed and removed, and a person without a role sees how to get access', async () => {
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

test('an admin assigns a role in every project and ends all sessions of a person', async () => {
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
