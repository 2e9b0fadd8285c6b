/** A server that people sign in to, with a key or at a real provider, and their pages in a real browser. */
import type { Page } from 'playwright-core'
import { startBalancer } from '../../support/balancer.ts'
import { startBrowser } from '../../support/browser.ts'
import { createTestDatabase } from '../../support/database.ts'
import { startIdentityProvider } from '../../support/identity-provider.ts'
import { request, startTestNode } from '../../support/node.ts'

export const ADMIN_KEY = 'an-admin-key-for-tests-of-enough-characters'

/** Refusals until somebody is signed in, streams that end, and what the pages of the provider load. */
const EXPECTED =
  /401|404|asks elsewhere|ERR_(ABORTED|NAME_NOT_RESOLVED|INTERNET_DISCONNECTED|INCOMPLETE_CHUNKED_ENCODING)/

export async function startSignIn() {
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

  const open = (path: string, more: object = {}) =>
    visit(balancer.url + path, { colorScheme: 'light', expected: EXPECTED, ...more })
  /** A page of somebody who is signed in with the key of the installation. */
  const openAsAdmin = async (path: string) => {
    const { page } = await open(path)
    await page.getByRole('textbox', { name: 'API key' }).fill(ADMIN_KEY)
    await page.getByRole('button', { name: 'Sign in with this key' }).click()
    await page.getByRole('button', { name: /Signed in as/ }).waitFor()
    return page
  }
  return { database, balancer, provider, asAdmin, open, openAsAdmin }
}

/** Somebody at the pages of the provider. */
export async function signIn(page: Page, login: string): Promise<void> {
  await page.getByRole('link', { name: 'Sign in with your company account' }).click()
  await page.getByPlaceholder('Enter any login').fill(login)
  await page.getByPlaceholder('and password').fill('any')
  await page.getByRole('button', { name: 'Sign-in' }).click()
  await page.getByRole('button', { name: 'Continue' }).click()
}
