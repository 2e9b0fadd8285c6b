/** Messages through a real mail server in another process, with TLS and a login. */
import { readFileSync } from 'node:fs'
import PostalMime from 'postal-mime'
import { expect, onTestFinished, test } from 'vitest'
import type { EmailAction } from '../../src/core/action/action.ts'
import { filledMail, type MailSettings, parseMailServer } from '../../src/core/action/mail-settings.ts'
import { parseSmtpUrl, type SmtpServer } from '../../src/core/action/smtp-url.ts'
import { Redactor } from '../../src/core/secret/redactor.ts'
import { NameResolver } from '../../src/outgoing/names/name-resolver.ts'
import { OwnPorts } from '../../src/outgoing/own-ports.ts'
import { UNCONFINED } from '../../src/outgoing/project-networks.ts'
import { createEmailExecutor } from '../../src/worker/executors/email.ts'
import { Mailboxes } from '../../src/worker/executors/mailboxes.ts'
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

const FROM = 'Belfry <belfry@example.com>'

/** What a project says, with the values of its secrets. */
const mailboxes = (
  settings: Partial<MailSettings>,
  { secrets = {}, allowPrivate = true }: { secrets?: Record<string, string>; allowPrivate?: boolean } = {},
) =>
  new Mailboxes({
    settingsOf: async () => ({ mailFrom: null, mailReplyTo: null, mailServer: null, ...settings }),
    vault: {
      read: async (_projectId, names) => {
        const name = names.find((each) => !(each in secrets))
        if (name !== undefined) return { ok: false, reason: 'missing', name }
        return { ok: true, values: new Map(names.map((each) => [each, secrets[each] ?? ''])) }
      },
      redactorOf: (values) => new Redactor(values),
    },
    policy: { allowPrivate },
    networks: UNCONFINED,
    own: new OwnPorts(),
    resolver: new NameResolver(),
  })

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
  const executor = createEmailExecutor({ pool, defaultFrom: FROM, mailboxes: mailboxes({}) })
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
])('a message reaches all its recipients, over %s and with a login', async (_, secure) => {
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

test('messages share a limited number of connections', async () => {
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
])(
  'a server that refuses %s causes the matching error, with or without a retry',
  async (_, more, retryable, code, says, status) => {
    const { told, execute } = await mail()

    const outcome = await execute(email(more), anAttempt())

    expect(outcome).toMatchObject({
      kind: 'failed',
      retryable,
      error: { code, message: expect.stringContaining(says), detail: { status } },
    })
    expect(told).toEqual([])
    expect(await execute(email(), anAttempt())).toMatchObject({ kind: 'completed' })
  },
)

test('a message over the size limit of the server fails permanently', async () => {
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

test('refused recipients are reported, and the others receive the message once', async () => {
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

test('a password that a reply repeats is redacted where the reply is cut', async () => {
  const password = 'a-password-that-replies-repeat'
  const { execute } = await mail({ login: { user: 'belfry', password } })

  const outcome = await execute(email({ to: ['ada@example.com', 'chatty@example.com'] }), anAttempt())

  expect(outcome).toMatchObject({
    error: { message: expect.stringContaining('[secret of the mail server]') },
    output: { refused: [{ response: expect.stringContaining('[secret of the mail server]') }] },
  })
  expect(JSON.stringify(outcome)).not.toContain(password.slice(0, 8))
})

test('a wrong password fails permanently and is not shown', async () => {
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

test('no message is sent to a server whose certificate is not trusted', async () => {
  const { told, execute } = await mail({ url: (port) => `smtps://belfry:x@127.0.0.2:${port}`, secure: true })

  const outcome = await execute(email(), anAttempt())

  expect(outcome).toMatchObject({ kind: 'failed', retryable: true, error: { code: 'email_unreachable' } })
  expect(told).toEqual([])
})

test('an unreachable mail server is worth another attempt', async () => {
  const { execute } = await mail({ url: () => 'smtp://127.0.0.1:1' })

  expect(await execute(email(), anAttempt())).toMatchObject({
    kind: 'failed',
    retryable: true,
    error: { code: 'email_unreachable', message: expect.stringContaining('cannot be reached') },
  })
})

test('a message is abandoned as soon as its signal fires, in transfer or waiting, and others continue', async () => {
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

test('a project sets the sender and the reply address, and a task overrides the sender', async () => {
  const { pool, told } = await mail()
  const executor = createEmailExecutor({
    pool,
    defaultFrom: FROM,
    mailboxes: mailboxes({ mailFrom: 'Ops <ops@example.com>', mailReplyTo: 'help@example.com' }),
  })

  await executor.execute(email(), anAttempt())
  await executor.execute(email({ from: 'me@example.com' }), anAttempt())

  const messages = await Promise.all(told.map(({ raw }) => PostalMime.parse(raw)))
  expect(messages).toMatchObject([
    { from: { name: 'Ops', address: 'ops@example.com' }, replyTo: [{ address: 'help@example.com' }] },
    { from: { address: 'me@example.com' }, replyTo: [{ address: 'help@example.com' }] },
  ])
})

test('without a mail server or a sender, the error names the setting', async () => {
  const { pool } = await mail()

  expect(
    await createEmailExecutor({ pool: null, defaultFrom: null, mailboxes: mailboxes({}) }).execute(
      email(),
      anAttempt(),
    ),
  ).toMatchObject({
    retryable: false,
    error: { code: 'email_not_configured', message: expect.stringContaining('--smtp-url') },
  })
  const nobody = createEmailExecutor({ pool, defaultFrom: null, mailboxes: mailboxes({}) })
  expect(await nobody.execute(email(), anAttempt())).toMatchObject({
    retryable: false,
    error: { code: 'invalid_email', message: expect.stringContaining('--smtp-from') },
  })
})

test('a project sends through its own mail server, with user, password and sender from secrets', async () => {
  const peer = await startPeer<Taken>('./smtp-process.mjs', [JSON.stringify({ tls: false, login: LOGIN })])
  const settings = {
    mailFrom: '{{secret.FROM}}',
    mailServer: `smtp://{{secret.USER}}:{{secret.PASSWORD}}@127.0.0.1:${peer.port}`,
  }
  const sending = (secrets: Record<string, string>, allowPrivate = true) => {
    const own = mailboxes(settings, { secrets, allowPrivate })
    const executor = createEmailExecutor({ pool: null, defaultFrom: FROM, mailboxes: own })
    onTestFinished(() => executor.close?.())
    return executor.execute(email(), anAttempt())
  }
  const secrets = { USER: LOGIN.user, PASSWORD: LOGIN.password, FROM: 'shop@example.com' }

  const sent = await sending(secrets)
  const missing = await sending({ USER: LOGIN.user, FROM: 'shop@example.com' })
  const wrong = await sending({ ...secrets, PASSWORD: 'not-the-password' })
  const broken = await sending({ ...secrets, PASSWORD: 'two\nlines' })
  const forbidden = await sending(secrets, false)

  expect(sent).toMatchObject({ kind: 'completed', output: { accepted: ['ada@example.com'] } })
  expect(peer.told).toMatchObject([{ from: 'shop@example.com', user: LOGIN.user }])
  expect(missing).toMatchObject({ error: { code: 'secret_missing' }, retryable: false })
  expect(wrong).toMatchObject({ error: { code: 'email_login_refused' } })
  expect(JSON.stringify(wrong)).not.toContain('not-the-password')
  expect(JSON.stringify(wrong)).toContain('[secret PASSWORD]')
  expect(broken).toMatchObject({ error: { code: 'secret_unusable' }, retryable: false })
  expect(forbidden).toMatchObject({ error: { code: 'forbidden_address' }, retryable: false })
})

test('the mail server of a project needs a literal host and a secret as its password', () => {
  const reasonOf = (text: string) => {
    const read = parseMailServer(text)
    return read.ok ? null : read.reason
  }

  expect(reasonOf('smtp://mail.example.com')).toBeNull()
  expect(reasonOf('smtps://shop:{{secret.P}}@mail.example.com')).toBeNull()
  expect(reasonOf('smtp://{{secret.U}}:{{secret.P}}@[2001:db8::1]:25')).toContain('always refused')
  expect(reasonOf('smtp://shop:plain@mail.example.com')).toContain('its password must be a secret')
  expect(reasonOf('smtp://shop:x{{secret.P}}@mail.example.com')).toContain('its password must be a secret')
  expect(reasonOf('smtp://shop@mail.example.com')).toContain('its password must be a secret')
  expect(reasonOf('smtp://:{{secret.P}}@mail.example.com')).toContain('its user must not be empty')
  expect(reasonOf('smtp://shop:{{secret.P}}@{{secret.HOST}}')).toContain('must have the form smtp://')
  expect(reasonOf('smtp://shop:{{secret.P}}@mail.example.com:{{secret.PORT}}')).toContain(
    'must have the form smtp://',
  )
  expect(reasonOf('smtp://169.254.169.254')).toContain('always refused')
  expect(reasonOf('smtp://0x7f.1')).toContain('its host must be')
  expect(reasonOf('https://mail.example.com')).toContain('must have the form smtp://')
})

test('a secret value that looks like a reference is sent literally', () => {
  const settings = {
    mailFrom: null,
    mailReplyTo: null,
    mailServer: 'smtp://{{secret.U}}:{{secret.P}}@mail.example.com',
  }

  const { server } = filledMail(settings, (name) => (name === 'U' ? '{{secret.P}}' : 'p@:/'))

  expect(server?.login).toEqual({ user: '{{secret.P}}', password: 'p@:/' })
})
