/**
 * A canary is planted in every place that can refer to a secret, and then looked for everywhere: in the database and the files that it
 * consists of, in the logs, in the answers of every route that reads, in events and in what was captured of receivers that tell whatever
 * they are told.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { newKey } from '../../src/core/secret/key-ring.ts'
import { Database } from '../../src/store/database/database.ts'
import { sql } from '../../src/store/database/sql.ts'
import { operationsOf } from '../api/document.ts'
import { type Peer, startPeer } from '../calls/peer.ts'
import { ensureBubblewrap } from '../support/bubblewrap.ts'
import { openEvents } from '../support/event-source.ts'
import { eventually } from '../support/eventually.ts'
import { aDirectory, embeddedDatabaseUrl, startBelfry } from '../support/process.ts'
import { aWorker } from '../support/remote-worker.ts'
import { startSink } from '../support/sink.ts'

const CANARY = 'canary-"4b7e"/ö +\\end'
const ADDRESS = 'canary-4b7e@example.com'
/** The token of a Slack address that a task is given as it is. */
const TOKEN = 'Canary4b7eOfSlackAddress'

/** Too long for one line of base64. */
const LONG = `canary-4b7e-${Array.from({ length: 20 }, (_, i) => (i * 7919).toString(36)).join('.')}`
/** Several lines, which may be told one by one. */
const KEY_LINES = ['canary-4b7e-first-line', 'canary-4b7e-another-line/of+a=key', 'canary-4b7e-last-line']
const KEY = `${KEY_LINES.join('\n')}\n`
/** As servers write text into the pages that show their errors. */
const html = (text: string) =>
  text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;').replace(/"/g, '&quot;')
const wrapped = (text: string) => text.replace(/.{76}/g, '$&\n')

/** Every way in which it may be told. */
const FORMS = [CANARY, ADDRESS, TOKEN, LONG, ...KEY_LINES].flatMap((value) => {
  const bytes = Buffer.from(value)
  const json = JSON.stringify(value).slice(1, -1)
  return [
    ...[
      value,
      json,
      JSON.stringify(json).slice(1, -1),
      html(value),
      JSON.stringify(html(value)).slice(1, -1),
      html(json),
      encodeURIComponent(value),
      new URLSearchParams({ v: value }).toString().slice(2),
    ],
    ...[
      bytes.toString('base64').slice(0, -4),
      bytes.toString('base64url').slice(0, -4),
      bytes.toString('hex'),
      ...wrapped(bytes.toString('base64')).split('\n').slice(0, -1),
    ],
    ...[1, 2].map((n) =>
      Buffer.concat([Buffer.alloc(n), bytes])
        .toString('base64')
        .slice(4, -4),
    ),
  ]
})
const tellsIn = (text: string) => {
  const packed = text.replace(/\s|\\n/g, '')
  return FORMS.filter((form) => text.includes(form) || packed.includes(form))
}

/** Stored in clear, to show that what is stored in clear is found. */
const MARKER = 'marker-91d3-of-what-is-no-secret'

/** Every file below a directory that holds one of some texts, by its path there. */
function filesWith(directory: string, texts: readonly string[]): readonly string[] {
  const needles = texts.map((text) => Buffer.from(text))
  return filesBelow(directory)
    .filter((path) => {
      const bytes = unlessGone(() => readFileSync(path))
      return needles.some((needle) => bytes?.includes(needle))
    })
    .map((path) => path.slice(directory.length + 1))
}

const filesBelow = (directory: string): readonly string[] =>
  (unlessGone(() => readdirSync(directory, { withFileTypes: true })) ?? []).flatMap((entry) => {
    const path = join(directory, entry.name)
    return entry.isDirectory() ? filesBelow(path) : entry.isFile() ? path : []
  })

/** PostgreSQL removes and renames files while it runs; one that cannot be read for another reason could hold anything. */
function unlessGone<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

const planted = (url: string): readonly object[] => [
  { type: 'ping', url: `${url}/ping/{{secret.CANARY}}?q={{secret.CANARY}}` },
  { type: 'webhook', url: `${url}/webhook`, body: { deep: [{ token: '{{secret.CANARY}}' }] } },
  { type: 'webhook', url: `${url}/text`, body: 'token={{secret.CANARY}}' },
  { type: 'webhook', url: `${url}/text`, body: '{{secret.LONG}} and {{secret.KEY}}' },
  { type: 'webhook', url: `${url}/fails`, body: '{{secret.CANARY}}' },
  { type: 'webhook', url: `${url}/page`, body: 'token={{secret.CANARY}}' },
  {
    type: 'http',
    url: `${url}/http?q={{secret.CANARY}}`,
    method: 'POST',
    headers: {
      authorization: 'Bearer {{secret.LATIN}}',
      'content-type': 'application/x-www-form-urlencoded',
    },
    body: 'a=1&token={{secret.CANARY}}',
  },
  { type: 'http', url: `${url}/redirect/{{secret.CANARY}}`, method: 'GET', followRedirects: 3 },
  { type: 'http', url: `${url}/long/{{secret.CANARY}}`, method: 'GET' },
  {
    type: 'slack',
    url: `${url}/services/{{secret.CANARY}}`,
    text: '{{secret.CANARY}}',
    blocks: [{ t: '{{secret.CANARY}}' }],
  },
  { type: 'slack', url: `${url}/services/T000/B000/${TOKEN}`, text: 'an address in clear' },
  {
    type: 'email',
    to: ['{{secret.ADDRESS}}', 'bob@example.com'],
    subject: 'for {{secret.CANARY}}',
    text: '{{secret.CANARY}}',
    html: '<b>{{secret.CANARY}}</b>',
  },
  // These refer to no secret, so that only the mail settings of the project know what the server's replies contain.
  { type: 'email', to: ['teller@example.com'], subject: 'nothing secret', text: 'nothing secret' },
  { type: 'email', to: ['leaky@example.com'], subject: 'nothing secret', text: 'nothing secret' },
  { type: 'handler', name: 'canary', payload: { token: '{{secret.CANARY}}' } },
]

/** Programs run sandboxed on Linux only. It tells all that it was given, on both outputs and as its result. */
const hasPrograms = process.platform === 'linux'
const program = {
  type: 'exec',
  command: '/bin/sh',
  args: [
    '-c',
    [
      'echo "$TOKEN"; cat >&2; cat told; printf %s "$TOKEN" | base64',
      'printf %s "$LONG" | base64; printf %s "$LONG" | od -An -tx1; printf %s "$KEY" | base64',
      'printf %s "$KEY" | while read -r line; do printf %s "$line" | base64; done',
      'echo "::output {\\"told\\": \\"$LATIN\\"}"; exit 3',
    ].join('; '),
  ],
  env: {
    TOKEN: '{{secret.CANARY}}',
    LATIN: '{{secret.ADDRESS}}',
    LONG: '{{secret.LONG}}',
    KEY: '{{secret.KEY}}',
  },
  stdin: { token: '{{secret.CANARY}}' },
  files: [{ path: 'told', content: 'a file with {{secret.CANARY}}' }],
}

/** Everything in the database as text. */
async function dumpOf(db: Database): Promise<string> {
  const tables = await db.run(sql<{ name: string }>`
    select quote_ident(relname) as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')`)
  expect(tables.length).toBeGreaterThan(40)
  const texts: string[] = []
  for (const { name } of tables) {
    const rows = await db.run<{ text: string | null }>({
      text: `select string_agg(t::text, E'\\n') as text from ${name} t`,
      values: [],
    })
    texts.push(rows[0]?.text ?? '')
  }
  return texts.join('\n')
}

test('a canary secret that is used in every place leaks nowhere', async () => {
  const sink = await startSink(({ path, headers, body }) => {
    if (path.startsWith('/redirect')) return { status: 307, headers: { location: `/redirected${path}` } }
    if (path.startsWith('/page')) {
      const page = `<html><h1>Bad Request</h1><pre>${html(`${path}\n${body}`)}</pre></html>`
      return { status: 400, headers: { 'content-type': 'text/html' }, body: page }
    }
    const said = JSON.stringify({
      path,
      headers,
      body,
      base64: Buffer.from(`.${path}${body}`).toString('base64'),
      wrapped: wrapped(Buffer.from(body).toString('base64')),
    })
    const long = path.startsWith('/long') ? 'x'.repeat(16 * 1024 - said.length + 40) : ''
    return {
      status: path.startsWith('/fails') ? 500 : 200,
      headers: { 'x-echo': encodeURIComponent(path) },
      body: long + said,
    }
  })
  const login = { user: CANARY, password: CANARY }
  const mail: Peer<{ raw: string; user: string; from: string }> = await startPeer('./smtp-process.mjs', [
    JSON.stringify({ tls: false, login }),
  ])
  const dataDir = aDirectory()
  const env = { BELFRY_SECRETS_KEY: newKey() }
  if (hasPrograms) await ensureBubblewrap()
  const exec = hasPrograms ? ['--exec', 'on', '--exec-commands', '/bin/sh'] : []
  const node = await startBelfry(['--data-dir', dataDir, '--log-level', 'trace', ...exec], { env })
  const url = embeddedDatabaseUrl(dataDir)
  const db = new Database({ url, applicationName: 'canary', maxConnections: 2, statementTimeoutMs: 60_000 })
  onTestFinished(() => db.close())
  const answers: string[] = []
  const say = async (method: string, path: string, body?: unknown) => {
    const answer = await node.request(method, path, body)
    answers.push(JSON.stringify([answer.headers, answer.body]))
    return answer
  }
  for (const [name, value] of Object.entries({ CANARY, ADDRESS, LATIN: CANARY, LONG, KEY }))
    expect((await say('PUT', `/v1/secrets/${name}`, { value })).status).toBe(201)
  const server = `smtp://{{secret.CANARY}}:{{secret.CANARY}}@127.0.0.1:${mail.port}`
  const mailSettings = { from: '{{secret.ADDRESS}}', replyTo: '{{secret.ADDRESS}}', server }
  expect((await say('PATCH', '/v1/projects/default', { mail: mailSettings })).status).toBe(200)
  expect((await say('DELETE', '/v1/secrets/ADDRESS')).body.detail).toContain(
    'The mail settings of the project use',
  )
  await say('POST', '/v1/subscriptions', { url: `${sink.url}/events` })
  const streams = await Promise.all(
    ['/v1/stream', '/v1/events?events=all', '/v1/events?events=audit-log'].map((path) =>
      openEvents(`${node.url}${path}`),
    ),
  )
  const worker = await aWorker(node.url, { handlers: ['canary'] })

  const made = await say('POST', '/v1/tasks/bulk', {
    tasks: [...planted(sink.url), ...(hasPrograms ? [program] : [])].map((action) => ({
      name: MARKER,
      action,
      retry: { limit: 1, initial: '0s', max: '0s' },
    })),
  })
  const ids: string[] = made.body.items.map(({ id }: { id: string }) => id)
  const [given] = await worker.claim(1)
  const message = `I was given ${JSON.stringify(given?.payload)}`
  await worker.say('heartbeat', {
    runs: [{ ...given, progress: { fraction: 0.5, message } }].map(({ runId, fence, progress }) => ({
      runId,
      fence,
      progress,
    })),
  })
  const report = {
    runId: given?.runId,
    fence: given?.fence,
    outcome: 'failed',
    error: { code: 'odd', message, stack: `at ${message}` },
  }
  await worker.say('complete', {
    runs: [{ ...report, log: [{ at: new Date().toISOString(), level: 'info', message }] }],
  })
  const [second] = await worker.claim(1)
  await worker.say('complete', {
    runs: [{ runId: second?.runId, fence: second?.fence, outcome: 'completed', result: second }],
  })
  const runIds = await eventually(async () => {
    const { items } = (await node.request('GET', '/v1/runs?limit=100')).body
    return (
      items.length === ids.length &&
      items.every(({ endedAt }: { endedAt: unknown }) => endedAt) &&
      items.map(({ id }: { id: string }) => id)
    )
  })
  const { body: document } = await node.request('GET', '/openapi.json')
  for (const { method, path } of operationsOf(document)) {
    if (method !== 'GET' || /\/stream|\/events$/.test(path)) continue
    const subjects = path.startsWith('/v1/runs/') ? runIds : path.startsWith('/v1/tasks/') ? ids : ['CANARY']
    for (const id of subjects)
      await say(
        'GET',
        path.replace(/\{(\w+)\}/g, (_, name) =>
          name === 'version' ? '1' : name === 'name' && path.startsWith('/v1/projects') ? 'default' : id,
        ),
      )
  }
  for (const id of runIds)
    for (const accept of ['text/plain', 'text/event-stream']) {
      const log = await fetch(`${node.url}/v1/runs/${id}/log`, { headers: { accept } })
      answers.push(await log.text())
    }
  await eventually(async () => sink.hits.filter(({ path }) => path === '/events').length >= ids.length)
  const [changes, ended, audited] = streams.map(({ events }) => events)
  await eventually(async () =>
    runIds.every((id: string) => [changes, ended].every((events) => JSON.stringify(events).includes(id))),
  )
  await eventually(async () => JSON.stringify(audited).includes('task.create'))

  // It reached everybody whom it was for.
  const told = sink.hits.map(({ path, headers, body }) => JSON.stringify({ path, headers, body })).join()
  for (const form of [
    encodeURIComponent(CANARY).replace(/[!'()*]/g, ''),
    JSON.stringify(JSON.stringify(CANARY)).slice(3, -3),
    `/services/T000/B000/${TOKEN}`,
  ])
    expect(told).toContain(form)
  expect(given?.payload).toEqual({ token: CANARY })
  expect(mail.told).toMatchObject([{ user: CANARY, from: ADDRESS }])
  for (const reply of ['taken from', 'recipients'])
    expect(answers.join('\n')).toMatch(
      new RegExp(`${reply}[^"]*\\[secret CANARY\\] with the password \\[secret CANARY\\]`),
    )
  if (hasPrograms) expect(answers.join('\n')).toContain('a file with [secret CANARY]')
  // And nobody else.
  const dump = await dumpOf(db)
  expect(dump).toContain('[secret CANARY]')
  for (const name of ['ADDRESS', 'LONG', 'KEY']) expect(dump).toContain(`[secret ${name}]`)
  expect(dump).toMatch(/\[secret SLACK_[0-9A-F]{16}\]/)
  expect(tellsIn(dump)).toEqual([])
  await db.run(sql`checkpoint`)
  const files = filesWith(dataDir, [MARKER])
  for (const part of ['pg/base/', 'pg/pg_wal/'])
    expect(
      files.some((path) => path.startsWith(part)),
      part,
    ).toBe(true)
  expect(filesWith(dataDir, FORMS)).toEqual([])
  expect(tellsIn(answers.join('\n'))).toEqual([])
  const carried = streams.map(({ events }) => JSON.stringify(events))
  expect(carried[0]).toContain('[secret CANARY]')
  expect(carried[1]).toContain('[secret CANARY]')
  expect(carried.flatMap(tellsIn)).toEqual([])
  expect(answers.join()).toContain('{{secret.CANARY}}')
  expect(
    tellsIn(
      sink.hits
        .filter(({ path }) => path === '/events')
        .map(({ body }) => body)
        .join(),
    ),
  ).toEqual([])
  node.kill('SIGTERM')
  await node.exited
  expect(node.stderr).toContain('attempt failed')
  expect(tellsIn(node.stderr + node.stdout)).toEqual([])
}, 120_000)
