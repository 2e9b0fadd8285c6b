/** Every action there is, and jobs by their four calls, by the real program, with a real peer in a process of its own at the other end. */
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { ACTION_TYPES } from '../../src/core/action/action.ts'
import { ensureBubblewrap } from '../support/bubblewrap.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startBelfry } from '../support/process.ts'
import { type Received, startPeer } from './peer.ts'

const CERTIFICATE = fileURLToPath(new URL('./localhost.pem', import.meta.url))
/** For machines that do much else at the same time. */
const TIME_LIMIT_MS = 150_000
const LOGIN = { user: 'belfry', password: 'not-to-be-seen' }

test(
  'every action does its work, and no secret is exposed on the way',
  async () => {
    const receiver = await startPeer<Received>('./receiver-process.mjs')
    const mail = await startPeer<{ raw: string; isSecure: boolean }>('./smtp-process.mjs', [
      JSON.stringify({ secure: true, login: LOGIN }),
    ])
    const { url: database } = await createTestDatabase()
    const smtp = `smtps://${LOGIN.user}:${LOGIN.password}@localhost:${mail.port}`
    await ensureBubblewrap()
    const settings = ['--database-url', database, '--smtp-from', 'Belfry <belfry@example.com>']
    settings.push('--exec', 'on', '--exec-commands', '/bin/echo')
    const environment = { BELFRY_SMTP_URL: smtp, NODE_EXTRA_CA_CERTS: CERTIFICATE }
    const first = await startBelfry([...settings, '--log-level', 'debug'], { env: environment })
    const { secret } = (await first.request('POST', '/v1/signing-secrets')).body
    // A node that starts knows the secret from its first request on.
    first.kill('SIGTERM')
    await first.exited
    const belfry = await startBelfry([...settings, '--log-level', 'debug'], { env: environment })
    await receiver.say({ secrets: [secret] })
    const worker = await startPeer<{ payload: unknown }>('./handler-process.mjs', [belfry.url])
    const url = `http://127.0.0.1:${receiver.port}`
    const slackPeer = await startPeer<Received>('./receiver-process.mjs')
    const actions: Record<(typeof ACTION_TYPES)[number], object> = {
      ping: { url: `${url}/ping` },
      webhook: { url: `${url}/webhook`, body: { report: 1 } },
      http: { url: `${url}/http`, method: 'DELETE', headers: { 'x-a': 'b' } },
      slack: { url: `http://127.0.0.1:${slackPeer.port}/services/T/B/x`, text: 'done' },
      email: { to: ['ada@example.com', 'bob@example.com'], subject: 'report', text: 'done' },
      sleep: { duration: '10ms' },
      handler: { name: 'greet', payload: { name: 'Ada' } },
      exec: { command: '/bin/echo', args: ['done'] },
    }

    await belfry.request('PATCH', '/v1/projects/default', { mail: { replyTo: 'help@example.com' } })
    const created = await belfry.request('POST', '/v1/tasks/bulk', {
      tasks: Object.entries(actions).map(([type, more]) => ({
        name: type,
        action: { type, ...more },
        retry: { limit: 0 },
        tracingId: `trace ${type}`,
      })),
    })
    const runs = await Promise.all(
      created.body.items.map(({ id }: { id: string }) =>
        eventually(
          async () => {
            const run = (await belfry.request('GET', `/v1/tasks/${id}/runs`)).body.items?.[0]
            return run?.endedAt && run
          },
          { withinMs: 60_000 },
        ),
      ),
    )

    const job = (
      await belfry.request('POST', '/submit_job', {
        user_id: 'ada',
        schedule: new Date().toISOString(),
        code_location: `${url}/job`,
      })
    ).body
    const executions = await eventually(
      async () => {
        const { body } = await belfry.request('POST', '/get_exec_history', { job_id: job.job_id })
        return body[0]?.ended_at ? body : undefined
      },
      { withinMs: 60_000 },
    )
    const jobs = (await belfry.request('POST', '/retrieve_all_jobs', { user_id: 'ada' })).body
    const named = { user_id: 'ada', job_id: job.job_id }
    const removed = await belfry.request('POST', '/delete_job', named)

    expect(executions).toMatchObject([{ job_id: job.job_id, status: 'COMPLETED' }])
    expect(jobs).toMatchObject([{ ...named, code_location: `${url}/job` }])
    expect(removed).toMatchObject({ status: 200, body: named })
    expect((await belfry.request('POST', '/retrieve_all_jobs', { user_id: 'ada' })).body).toEqual([])
    expect(Object.keys(actions).sort()).toEqual([...ACTION_TYPES].sort())
    expect(runs.map(({ taskName, state, error }) => ({ taskName, state, error }))).toEqual(
      Object.keys(actions).map((taskName) => ({ taskName, state: 'completed', error: null })),
    )
    expect(receiver.told.map(({ method, path, verified }) => [method, path, ...verified]).sort()).toEqual([
      ['DELETE', '/http', true],
      ['GET', '/job', true],
      ['GET', '/ping', true],
      ['POST', '/webhook', true],
    ])
    expect(slackPeer.told).toMatchObject([{ method: 'POST', body: '{"text":"done"}' }])
    expect(slackPeer.told[0]?.headers).not.toHaveProperty('webhook-signature')
    expect(mail.told).toMatchObject([{ isSecure: true, raw: expect.stringContaining('Subject: report') }])
    expect(mail.told[0]?.raw).toContain('Reply-To: help@example.com')
    expect(worker.told).toMatchObject([{ payload: { name: 'Ada' } }])
    const answers = await Promise.all(
      ['/v1/tasks', '/v1/runs', '/v1/signing-secrets', '/v1/nodes'].map((path) =>
        belfry.request('GET', path),
      ),
    )
    const seen = [belfry.stdout, belfry.stderr, first.stdout, first.stderr, JSON.stringify(answers)].join(
      '\n',
    )
    for (const word of [LOGIN.password, secret, secret.slice('whsec_'.length)])
      expect(seen).not.toContain(word)
    expect(belfry.log.map(({ tracingId }) => tracingId)).toContain('trace webhook')
  },
  TIME_LIMIT_MS,
)
