/** What a worker of one project is told about the runs of another: what it is told about runs that do not exist. */
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { aFile, download } from '../../files/support.ts'
import { logOf } from '../../support/logs.ts'
import { aWorker, type GivenRun } from '../../support/remote-worker.ts'
import { completed, held, type Protocol } from './protocol.ts'

const PROJECT = { 'belfry-project': 'strangers' }
/** Nobody claims the run of the other project first. */
const LABEL = 'strangers'
const OFFER = { actions: ['exec'], version: '0.2.0', labels: [LABEL] }

export function strangers({ node, other, runOf }: Protocol): void {
  const inProject: typeof node.request = (method, path, body, headers) =>
    node.request(method, path, body, { ...headers, ...PROJECT })

  /** A run of the project `default` that its worker performs, and a worker of another project, which performs one too. */
  async function aRunAndAStranger() {
    await node.request('POST', '/v1/projects', { name: PROJECT['belfry-project'] })
    const file = await aFile(node, Buffer.from('some program'))
    const task = { action: { type: 'exec', file }, labels: [LABEL] }
    expect((await node.request('POST', '/v1/tasks', task)).status).toBe(201)
    const worker = await aWorker(node.url, OFFER)
    const [run] = (await worker.claim(1)) as [GivenRun]
    const stranger = await aWorker(node.url, OFFER, PROJECT)
    return { worker, run, stranger }
  }

  test('a worker of another project is answered about a run as about one that does not exist', async () => {
    const { worker, run, stranger } = await aRunAndAStranger()
    const unknown = { ...run, runId: randomUUID() }
    const message = 'from a stranger'
    const line = { at: '2026-11-16T09:00:00.000Z', level: 'info', message }
    const requests: ((run: GivenRun) => readonly [what: string, body: unknown])[] = [
      (run) => ['heartbeat', { runs: [held(run)] }],
      (run) => ['heartbeat', { runs: [{ ...held(run), progress: { fraction: 0.5, message } }] }],
      (run) => ['log', { runs: [{ ...held(run), first: 0, lines: [line] }] }],
      (run) => ['complete', { runs: [completed(run, { result: message, log: [line] })] }],
      (run) => ['complete', { runs: [{ ...held(run), outcome: 'failed', error: { message } }] }],
      (run) => ['complete', { runs: [{ ...held(run), outcome: 'lost' }] }],
      (run) => ['return', { runs: [held(run)] }],
    ]

    const answered = async (run: GivenRun) => {
      const answers: unknown[] = []
      for (const request of requests)
        for (const url of [node.url, other.url]) {
          const { status, body } = await stranger.say(...request(run), url)
          answers.push([status, JSON.parse(JSON.stringify(body).replaceAll(run.runId, 'the run'))])
        }
      return answers
    }
    const [foreign, nobodys] = [await answered(run), await answered(unknown)]

    expect(foreign).toEqual(nobodys)
    expect(foreign).toMatchObject([
      ...Array(4).fill([200, { cancelled: [], lost: ['the run'] }]),
      ...Array(2).fill([200, { lost: ['the run'] }]),
      ...Array(6).fill([200, { runs: [{ runId: 'the run', recorded: false, pending: false }] }]),
      ...Array(2).fill([200, {}]),
    ])
    const untouched = { state: 'running', workerId: worker.id, fence: run.fence, attempt: 1, progress: null }
    expect(await runOf(run)).toMatchObject(untouched)
    expect(await logOf(node, run.runId)).toEqual([])
  })

  test('a worker of another project is given no run, and its signed address serves no file', async () => {
    const { run, stranger } = await aRunAndAStranger()
    const signed = run.program?.files[0]?.url ?? ''
    const theirs = await aFile({ ...node, request: inProject }, Buffer.from('their program'))
    const addressOf = (file: string) => signed.replace(/(files\/)[^/]+/, `$1${file}`)

    const claimed = await stranger.claim(10, { waitMs: 0 })
    const [own, foreign, unknown] = await Promise.all(
      [signed, addressOf(theirs), addressOf(randomUUID())].map((url) => download(node, url)),
    )

    expect(claimed).toEqual([])
    expect([own?.status, foreign?.status, unknown?.status]).toEqual([200, 401, 401])
    const told = [foreign, unknown].map((answer) => JSON.parse(String(answer?.bytes)))
    expect(told.map(({ code, detail }) => [code, detail])).toEqual(
      Array(2).fill(['invalid_signature', 'The address was signed for another file.']),
    )
  })
}
