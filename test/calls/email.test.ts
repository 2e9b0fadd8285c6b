/** Messages through a real mail server in another process, with TLS and a login. */
import { readFileSync } from 'node:fs'
import PostalMime from 'postal-mime'
import { expect, onTestFinished, test } from 'vitest'
import type { EmailAction } from '../../src/core/action/action.ts'
import { parseSmtpUrl, type SmtpServer } from '../../src/core/action/smtp-url.ts'
import { createEmailExecutor } from '../../src/worker/executors/email.ts'
import { MAX_SMTP_CONNECTIONS, SmtpPool } from '../../src/worker/executors/smtp-pool.ts'
import { anAttempt } from '../../src/worker/executors/test-support.ts'
import { eventually } from '../support/eventually.ts'
import { startPeer } from './peer.ts'

interface Taken {
  readonly from: string
  readonly to: readonly string[]
  readonly raw: string
  readonly isSecure: boolean
  readonly user: string | null
  readonly connections: number
}

const ca = readFileSync(new URL('./localhost.pem', import.meta.url), 'utf8')
const LOGIN = { user: 'belfry', password: 'p@ss/word' }

interface Setup {
  readonly secure?: boolean
  readonly tls?: boolean
  readonly login?: typeof LOGIN | null
  /** What the executor logs in with, when it is not that. */
  readonly url?: (port: number) => string
}

/** A mail server, and an executor that uses it. */
async function mail({ secure = false, tls = true, login = LOGIN, url }: Setup = {}) {
  const peer = await startPeer<Taken>('./smtp-process.mjs', [JSON.stringify({ secure, tls, login })])
  const who = login === null ? '' : `${login.user}:${encodeURIComponent(login.password)}@`
  const address = url?.(peer.port) ?? `${secure ? 'smtps' : 'smtp'}://${who}localhost:${peer.port}`
  const parsed = parseSmtpUrl(address) as { server: SmtpServer }
  const pool = new SmtpPool({ server: parsed.server, ca })
  const executor = createEmailExecutor({ pool, defaultFrom: 'Belfry <belfry@example.com>' })
  onTestFinished(() => executor.close?.())
  return { told: peer.told, say: peer.say, pool, execute: executor.execute }
}

const email = (more: Partial<EmailAction> = {}): EmailAction => ({
  type: 'email',
  to: 'ada@example.com',
  subject: 'hello',
  text: 'How are you?',
  ...more,
})

test.each([
  ['STARTTLS', false],
  ['TLS from the start', true],
])('a message goes to all its recipients, over %s and with a login', async (_, secure) => {
  const { told, execute } = await mail({ secure })
  const action = email({
    to: ['Ada Lovelace <ada@example.com>', 'bob@example.com'],
    cc: 'carol@example.com',
    bcc: ['dora@example.com', 'bob@example.com'],
    replyTo: 'desk@example.com',
    subject: 'Grüße 🎉',
    html: '<p>How are <b>you</b>?</p>',
  })

  const outcome = await execute(action, anAttempt({ tracingId: 'order 7' }))

  expect(outcome).toMatchObject({
    kind: 'completed',
    output: {
      messageId: '<0198c0de-0000-7000-8000-000000000001@example.com>',
      accepted: ['ada@example.com', 'bob@example.com', 'carol@example.com', 'dora@example.com'],
      refused: [],
      response: expect.stringContaining('taken'),
    },
  })
  expect(told).toMatchObject([{ from: 'belfry@example.com', isSecure: true, user: 'belfry' }])
  const message = await PostalMime.parse(told[0]?.raw ?? '')
  expect(message).toMatchObject({
    from: { name: 'Belfry', address: 'belfry@example.com' },
    to: [{ name: 'Ada Lovelace', address: 'ada@example.com' }, { address: 'bob@example.com' }],
    cc: [{ address: 'carol@example.com' }],
    replyTo: [{ address: 'desk@example.com' }],
    subject: 'Grüße 🎉',
    messageId: '<0198c0de-0000-7000-8000-000000000001@example.com>',
    text: expect.stringContaining('How are you?'),
    html: expect.stringContaining('<b>you</b>'),
  })
  expect(told[0]?.raw).not.toContain('dora@example.com')
  const headers = Object.fromEntries(message.headers.map(({ key, value }) => [key, value]))
  expect(headers).toMatchObject({ 'auto-submitted': 'auto-generated', 'belfry-tracing-id': 'order 7' })
})

test('messages share connections, and their number is bounded', async () => {
  const { told, pool, execute } = await mail()

  const outcomes = await Promise.all(
    Array.from({ length: MAX_SMTP_CONNECTIONS + 20 }, () => execute(email(), anAttempt())),
  )
  await execute(email(), anAttempt())

  expect(outcomes.every(({ kind }) => kind === 'completed')).toBe(true)
  expect(told).toHaveLength(MAX_SMTP_CONNECTIONS + 21)
  expect(Math.max(...told.map(({ connections }) => connections))).toBeLessThanOrEqual(MAX_SMTP_CONNECTIONS)
  expect(pool.connections).toBeLessThanOrEqual(MAX_SMTP_CONNECTIONS)
})

test.each<[string, Partial<EmailAction>, boolean, string, string, number]>([
  [
    'a sender it does not like',
    { from: 'blocked@example.com' },
    false,
    'email_refused',
    'we do not like you',
    550,
  ],
  ['a sender it wants later', { from: 'busy@example.com' }, true, 'email_refused', 'come back later', 451],
  ['no recipient it knows', { to: 'nobody@example.com' }, false, 'recipients_refused', 'no such user', 550],
  ['a full mailbox', { to: 'full@example.com' }, true, 'recipients_refused', 'mailbox is full', 452],
  [
    'recipients of which one may do later',
    { to: ['nobody@example.com', 'full@example.com'] },
    true,
    'recipients_refused',
    'mailbox is full',
    452,
  ],
  ['content it does not like', { to: 'spam@example.com' }, false, 'email_refused', 'looks like spam', 554],
])('a server that refuses %s is told apart', async (_, more, retryable, code, says, status) => {
  const { told, execute } = await mail()

  const outcome = await execute(email(more), anAttempt())

  expect(outcome).toMatchObject({
    kind: 'failed',
    retryable,
    error: { code, message: expect.stringContaining(says), detail: { status } },
  })
  expect(told).toEqual([])
  expect(await execute(email(), anAttempt())).toMatchObject({ kind: 'completed' })
})

test('a message that is larger than the server takes fails for good', async () => {
  const { execute } = await mail()

  const outcome = await execute(email({ text: 'x'.repeat(1_100_000) }), anAttempt())

  expect(outcome).toMatchObject({ kind: 'failed', retryable: false, error: { code: 'email_refused' } })
})

test('connections that the server has closed meanwhile cost no attempt', async () => {
  const { told, say, execute } = await mail()
  await Promise.all([execute(email(), anAttempt()), execute(email(), anAttempt())])

  await say({ close: true })
  const outcomes = [await execute(email(), anAttempt()), await execute(email(), anAttempt())]

  expect(outcomes.map(({ kind }) => kind)).toEqual(['completed', 'completed'])
  expect(told).toHaveLength(4)
})

test('recipients who were refused are told, and the others get it once', async () => {
  const { told, execute } = await mail()

  const outcome = await execute(
    email({ to: ['ada@example.com', 'nobody@example.com', 'full@example.com'] }),
    anAttempt(),
  )

  expect(outcome).toMatchObject({
    kind: 'failed',
    retryable: false,
    error: {
      code: 'recipients_refused',
      message: expect.stringMatching(
        /^sent to 1 of 3 recipients and will not be sent again; refused: nobody@example\.com \(550 no such user\), full@example\.com \(452 mailbox is full\)$/,
      ),
    },
    output: {
      accepted: ['ada@example.com'],
      refused: [{ address: 'nobody@example.com' }, { address: 'full@example.com' }],
    },
  })
  expect(told).toMatchObject([{ to: ['ada@example.com'] }])
})

test('a wrong password fails for good and is not shown', async () => {
  const { execute } = await mail({ url: (port) => `smtp://belfry:wrong-secret@localhost:${port}` })

  const outcome = await execute(email(), anAttempt())

  expect(outcome).toMatchObject({ kind: 'failed', retryable: false, error: { code: 'email_login_refused' } })
  expect(JSON.stringify(outcome)).not.toContain('wrong-secret')
})

test('a password is never sent without TLS to another machine', async () => {
  const read = (url: string) => parseSmtpUrl(url)

  expect(read('smtp://a:b@mail.example.com')).toMatchObject({ server: { needsTls: true, port: 587 } })
  expect(read('smtp://mail.example.com')).toMatchObject({ server: { needsTls: false, login: null } })
  expect(read('smtp://a:b@127.0.0.1:25')).toMatchObject({ server: { needsTls: false, port: 25 } })
  expect(read('smtps://mail.example.com')).toMatchObject({ server: { isSecure: true, port: 465 } })
})

test('a server whose certificate nobody vouches for is not spoken to', async () => {
  const { told, execute } = await mail({ url: (port) => `smtps://belfry:x@127.0.0.2:${port}`, secure: true })

  const outcome = await execute(email(), anAttempt())

  expect(outcome).toMatchObject({ kind: 'failed', retryable: true, error: { code: 'email_unreachable' } })
  expect(told).toEqual([])
})

test('nobody there is worth another attempt', async () => {
  const { execute } = await mail({ url: () => 'smtp://127.0.0.1:1' })

  expect(await execute(email(), anAttempt())).toMatchObject({
    kind: 'failed',
    retryable: true,
    error: { code: 'email_unreachable', message: expect.stringContaining('cannot be reached') },
  })
})

test('a message is left as soon as its signal fires, under way or waiting, and others go on', async () => {
  const { told, pool, execute } = await mail()
  const aborts = Array.from({ length: MAX_SMTP_CONNECTIONS + 3 }, () => new AbortController())
  const stuck = aborts.map(({ signal }) => execute(email({ to: 'stuck@example.com' }), anAttempt({ signal })))
  await eventually(async () => told.length === MAX_SMTP_CONNECTIONS)
  const waiting = execute(email(), anAttempt())

  for (const abort of aborts) abort.abort()
  await Promise.all(stuck)

  expect(await waiting).toMatchObject({ kind: 'completed' })
  expect(pool.connections).toBeLessThanOrEqual(MAX_SMTP_CONNECTIONS)
  expect(told.filter((message) => 'raw' in message)).toHaveLength(1)
})

test('a project says who sends and who gets the answers, and the task has the last word', async () => {
  const { pool, told } = await mail()
  const executor = createEmailExecutor({
    pool,
    defaultFrom: 'Belfry <belfry@example.com>',
    senderOf: async () => ({ mailFrom: 'Ops <ops@example.com>', mailReplyTo: 'help@example.com' }),
  })

  await executor.execute(email(), anAttempt())
  await executor.execute(email({ from: 'me@example.com' }), anAttempt())

  const messages = await Promise.all(told.map(({ raw }) => PostalMime.parse(raw)))
  expect(messages).toMatchObject([
    { from: { name: 'Ops', address: 'ops@example.com' }, replyTo: [{ address: 'help@example.com' }] },
    { from: { address: 'me@example.com' }, replyTo: [{ address: 'help@example.com' }] },
  ])
})

test('without a mail server, or without a sender, it says what to set', async () => {
  const { pool } = await mail()

  expect(
    await createEmailExecutor({ pool: null, defaultFrom: null }).execute(email(), anAttempt()),
  ).toMatchObject({
    retryable: false,
    error: { code: 'email_not_configured', message: expect.stringContaining('--smtp-url') },
  })
  expect(await createEmailExecutor({ pool, defaultFrom: null }).execute(email(), anAttempt())).toMatchObject({
    retryable: false,
    error: { code: 'invalid_email', message: expect.stringContaining('--smtp-from') },
  })
})
