/** Guides that start servers of their own, followed to the letter. */
import { join } from 'node:path'
import { onTestFinished, test } from 'vitest'
import { read } from '../project/tree.ts'
import { ensureBubblewrap } from '../support/bubblewrap.ts'
import { CookieClient } from '../support/cookie-client.ts'
import { makeDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { type IdentityProvider, startIdentityProvider } from '../support/identity-provider.ts'
import { aDirectory } from '../support/process.ts'
import { follow, freePorts } from './reader.ts'

test('the guide to a first task works as written', { retry: 0 }, async () => {
  const home = aDirectory()
  const dataDir = join(home, 'data')

  await follow(read('docs/guides/first-task-in-five-minutes.md'), {
    home,
    env: { BELFRY_DATA_DIR: dataDir, BELFRY_LOG_LEVEL: 'warn' },
    portVariable: 'BELFRY_PORT',
    instead: { '~/.local/share/belfry': dataDir, "<the repository's address>": 'here' },
  })
})

test('the guide to a cluster works as written', { retry: 0 }, async () => {
  const { url, drop } = await makeDatabase({ empty: true })
  onTestFinished(drop)

  await follow(read('docs/guides/a-cluster-on-postgresql.md'), {
    home: aDirectory(),
    env: { BELFRY_LOG_LEVEL: 'error' },
    instead: { 'postgresql://belfry:secret@db.example.com:5432/belfry': url },
  })
})

test('the guide to company accounts works as written', { retry: 0 }, async () => {
  const { url, drop } = await makeDatabase({ empty: true })
  onTestFinished(drop)
  const [port = 0] = await freePorts(1)
  const belfry = `127.0.0.1:${port}`
  const provider = await startIdentityProvider(() => [`http://${belfry}/auth/callback`])
  provider.accounts['ada'] = { email: 'ada@example.com', email_verified: true, groups: ['developers'] }

  const reading = follow(read('docs/guides/sign-in-with-your-company-account.md'), {
    home: aDirectory(),
    env: { BELFRY_LOG_LEVEL: 'error', BELFRY_DATABASE_URL: url, BELFRY_URL: '', BELFRY_PORT: `${port}` },
    instead: { 'https://login.example.com': provider.issuer, '127.0.0.1:3369': belfry },
  })
  await Promise.all([reading, signInWith(new CookieClient(`http://${belfry}`), provider)])
})

/** What the page says to do in a browser, once there is something to sign in to. */
async function signInWith(browser: CookieClient, provider: IdentityProvider): Promise<void> {
  const started = await eventually(() => browser.fetch('/auth/login').catch(() => null), { withinMs: 60_000 })
  const returned = new URL(await provider.signIn(started.headers.get('location') ?? '', 'ada'))
  await browser.fetch(returned.pathname + returned.search)
}
/** The page names files of its own; here everything else stays on this machine. */
test('the guide to a network works as written', { retry: 0 }, async () => {
  const home = aDirectory()

  await follow(read('docs/guides/put-it-on-a-network.md'), {
    home,
    env: { BELFRY_DATA_DIR: join(home, 'data'), BELFRY_LOG_LEVEL: 'error', BELFRY_URL: '' },
    portVariable: 'BELFRY_PORT',
    instead: { 'belfry.example.com': 'localhost', '0.0.0.0': '127.0.0.1' },
  })
})

test.runIf(process.platform === 'linux')(
  'the guide to replacing cron works as written',
  { retry: 0 },
  async () => {
    await ensureBubblewrap()
    const home = aDirectory()

    await follow(read('docs/guides/replace-cron-on-your-servers.md'), {
      home,
      env: {
        BELFRY_DATA_DIR: join(home, 'data'),
        BELFRY_FILE_CACHE_DIR: join(home, 'files'),
        BELFRY_LOG_LEVEL: 'warn',
      },
      portVariable: 'BELFRY_PORT',
    })
  },
)
