/** The application alone, without a port and without anybody who fires: what is stored stays as it is. */

import type { LightMyRequestResponse } from 'fastify'
import { afterAll } from 'vitest'
import { createApp } from '../../src/api/app.ts'
import { Readiness } from '../../src/api/http/readiness.ts'
import type { ScheduleLimits } from '../../src/core/limits/limits.ts'
import { DEFAULT_PROJECT_ID } from '../../src/core/values/default-project.ts'
import { Tester } from '../../src/events/subscriptions/tester.ts'
import { LogWriter } from '../../src/logs/log-writer.ts'
import { RefusedRequests } from '../../src/operations/audit-log/refused-requests.ts'
import { contextOf, systemCall } from '../../src/operations/context.ts'
import { KeyBook } from '../../src/operations/keys/key-book.ts'
import { signInPerson } from '../../src/operations/people/sign-in.ts'
import { WriteCheck } from '../../src/operations/server/write-check.ts'
import { SessionBook } from '../../src/operations/sessions/session-book.ts'
import { UNCONFINED } from '../../src/outgoing/project-networks.ts'
import { UNSIGNED } from '../../src/outgoing/signer.ts'
import { AttemptDesk } from '../../src/remote/attempt-desk.ts'
import { RemoteDesk } from '../../src/remote/remote-desk.ts'
import type { Database } from '../../src/store/database/database.ts'
import { sql } from '../../src/store/database/sql.ts'
import { readClock } from '../../src/store/nodes/nodes.ts'
import { silentLogger } from '../../src/telemetry/logger.ts'
import { Definitions } from '../../src/transport/definitions.ts'
import { LaneRegistry } from '../../src/transport/lane-registry.ts'
import { PostgresTransport } from '../../src/transport/postgres/postgres-transport.ts'
import { LocalWakeUps } from '../../src/transport/wake-ups.ts'
import { IS_BALANCED } from '../support/balancer.ts'
import { SLOW_DATABASE_MS } from '../support/cadence.ts'
import { steadyClock } from '../support/clock.ts'
import { aVault, ofFiles } from '../support/vault.ts'

export interface InjectedAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: tests read what they expect, and fail where it is not there.
  readonly body: any
}

const MAX_LOG_BYTES = 1_048_576
const ISSUER = 'https://identity.example/'

interface TestAppOptions {
  readonly limits?: ScheduleLimits
  readonly allowedOrigins?: readonly string[]
  readonly privateReach?: 'all' | readonly string[]
  readonly misfireGraceMs?: number
}

/** One of them, or two that are asked in turn. */
export async function createTestApp(database: { db: Database }, options: TestAppOptions = {}) {
  const wakeUps = new LocalWakeUps()
  const first = await createOneApp(database, options, wakeUps)
  if (!IS_BALANCED) return first
  const apps = [first, await createOneApp(database, options, wakeUps)]
  let turn = 0
  const send: typeof first.send = (...request) => (apps[turn++ % apps.length] ?? first).send(...request)
  const runOnce = async () => void (await Promise.all(apps.map((each) => each.refusedRequests.runOnce())))
  return { ...first, send, refusedRequests: { runOnce } }
}

async function createOneApp(
  { db }: { db: Database },
  {
    limits = { minPeriodMs: null, maxAheadMs: null },
    allowedOrigins = [],
    privateReach = 'all',
    misfireGraceMs = 10_000,
  }: TestAppOptions,
  wakeUps: LocalWakeUps,
) {
  const [reading] = await db.run(readClock()).catch(() => [])
  const offset = (reading?.now ?? Date.now()) - performance.now()
  const clock = steadyClock(() => performance.now() + offset)
  const vault = aVault(db)
  await vault.runOnce().catch(() => {})
  const logs = new LogWriter({ db, clock, log: silentLogger(), maxLogBytes: MAX_LOG_BYTES })
  logs.start()
  const lanes = new LaneRegistry()
  const remoteWorkers = new RemoteDesk({
    callersDb: db,
    db,
    transportOn: (queryable) => new PostgresTransport(queryable),
    wakeUps,
    definitions: new Definitions(db),
    lanes,
    clock,
    log: silentLogger(),
    claimEveryMs: 1_000,
    heartbeatMs: 5_000,
    leaseMs: 15_000,
    vault,
    addresses: ofFiles(vault, clock).addresses,
    signer: UNSIGNED,
    projectNetworks: UNCONFINED,
    logs,
    maxLogBytes: MAX_LOG_BYTES,
  })
  remoteWorkers.start()
  const refusedRequests = new RefusedRequests({ db, clock, log: silentLogger() })
  const facilities = {
    db,
    writeCheck: new WriteCheck(db),
    clock,
    wakeUps,
    lanes,
    vault,
    ...ofFiles(vault, clock),
    heartbeatMs: 5_000,
    shardTakeoverMs: 3_000,
    misfireGraceMs,
    deadNodeMinutes: 10_080,
    refusedRequests,
    limits,
    privateReach,
  }
  const attemptReports = new AttemptDesk({
    db,
    definitions: new Definitions(db),
    wakeUps,
    clock,
    vault,
  })
  const tester = new Tester({
    clock,
    userAgent: 'belfry/0.0.0-test',
    keys: UNSIGNED,
    http: { allowPrivate: true },
    timeoutMs: 10_000,
  })
  const readiness = new Readiness(facilities.writeCheck)
  readiness.enter('serving')
  const keys = new KeyBook({ db, wakeUps, clock, log: silentLogger(), adminKey: null, isLoopback: true })
  keys.start()
  const rules = { idleMinutes: 720, maxHours: 168, issuer: ISSUER }
  const sessions = new SessionBook({ db, wakeUps, log: silentLogger(), rules })
  sessions.start()
  const app = await createApp({
    facilities,
    callersDb: db,
    keys,
    people: { sessions, provider: null },
    readiness,
    remoteWorkers,
    attemptReports,
    tester,
    log: silentLogger(),
    installation: {
      version: '0.0.0-test',
      loopbackOnly: true,
      publicUrl: null,
      allowedOrigins,
      trustedProxies: [],
      isEmbedded: true,
      databasePlace: '~/.local/share/belfry',
    },
    connections: {
      headersTimeoutMs: 10_000,
      requestTimeoutMs: 30_000,
      maxHeaderBytes: 16_384,
      responseTimeoutMs: 120_000,
      maxConnections: 1_000,
      maxStreams: 100,
    },
    slowDatabaseMs: SLOW_DATABASE_MS,
    certificate: null,
    dashboard: null,
  })
  afterAll(async () => {
    await app.close()
    await keys.stop()
    await sessions.stop()
    await remoteWorkers.stop()
    await logs.stop()
    await tester.stop()
  })

  /** A body that is text or bytes is sent as it is, everything else as JSON. */
  const send = async (
    method: string,
    url: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<InjectedAnswer> => {
    const request = {
      method: method as 'GET',
      url,
      headers: {
        host: 'localhost',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { payload: isRaw(body) ? body : JSON.stringify(body) }),
    }
    if (['/v1/stream', '/v1/events'].includes(url.split('?')[0] ?? ''))
      return beginning(await app.inject({ ...request, payloadAsStream: true }))
    const answer = await app.inject(request)
    const isJson = /json/.test(String(answer.headers['content-type']))
    return {
      status: answer.statusCode,
      headers: answer.headers,
      text: answer.payload,
      body: isJson && answer.payload !== '' ? JSON.parse(answer.payload) : null,
    }
  }
  const context = contextOf(facilities, systemCall('test', DEFAULT_PROJECT_ID))
  /** Signs somebody in, and answers what their browser sends with every request of the dashboard. */
  const signIn = async (email: string): Promise<Record<string, string>> => {
    const identity = { issuer: ISSUER, subject: email, email, name: null, groups: [] }
    const { token } = await signInPerson(context, sessions, identity)
    return { cookie: `belfry=${token}`, origin: 'http://localhost', 'sec-fetch-site': 'same-origin' }
  }
  return { app, context, send, signIn, refusedRequests }
}

const isRaw = (body: unknown): body is string | Buffer => typeof body === 'string' || Buffer.isBuffer(body)

/** A stream does not end by itself: its first event stands for it. */
async function beginning(answer: LightMyRequestResponse): Promise<InjectedAnswer> {
  const isStream = answer.headers['content-type'] === 'text/event-stream'
  const body = answer.stream()
  let text = ''
  for await (const chunk of body) {
    text += String(chunk)
    if (isStream && text.includes('event: hello')) break
  }
  // Nobody reads on, and the server notices that only after a while.
  if (isStream) answer.raw.res.destroy()
  return {
    status: answer.statusCode,
    headers: answer.headers,
    text,
    body: isStream ? text : JSON.parse(text),
  }
}

/** Everything that a refused request must leave as it was. Nodes that run beside it go on beating. */
export async function storedIn(db: Database): Promise<string> {
  const [row] = await db.run(sql<{ digest: string }>`
    select md5(concat((select string_agg(t::text, ',' order by t.id) from task t),
                      (select string_agg(v::text, ',' order by v.task_id, v.version) from task_version v),
                      (select string_agg(e::text, ',' order by e.task_id, e.version) from task_edit e),
                      (select string_agg(a::text, ',' order by a.run_id) from agenda a),
                      (select string_agg(r::text, ',' order by r.run_id) from run r),
                      (select string_agg(o::text, ',' order by o.run_id) from run_override o),
                      (select string_agg(b::text, ',' order by b.id) from backfill b),
                      (select string_agg(s::text, ',' order by s.id) from signing_secret s),
                      (select string_agg(s::text, ',' order by s.id) from endpoint_signing_secret s),
                      (select string_agg(s::text, ',' order by s.project_id, s.name) from secret s),
                      (select string_agg(s::text, ',' order by s.project_id, s.name, s.version) from secret_version s),
                      (select string_agg(u::text, ',' order by u.task_id, u.name) from secret_use u),
                      (select string_agg(i::text, ',' order by i.key) from idempotency i),
                      (select string_agg(q::text, ',' order by q.project_id, q.name) from queue q),
                      (select string_agg((to_jsonb(n) - 'beat' - 'beat_at' - 'named_at')::text, ',' order by n.id) from node n),
                      (select string_agg(w::text, ',' order by w.id) from remote_worker w),
                      (select string_agg(t::text, ',' order by t.project_id, t.pattern) from target_setting t),
                      (select string_agg(s::text, ',' order by s.id) from subscription s),
                      (select string_agg(e::text, ',' order by e.id) from audit_entry e))) as digest`)
  return row?.digest ?? ''
}
