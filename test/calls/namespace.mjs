/**
 * Runs inside a network and a mount namespace of its own, where every address that must not be reached is this machine's, and
 * a canary listens behind each of them. Starts the real program there, has it call those addresses in all the ways
 * there are, and prints what became of the runs and what the canaries saw, as JSON. There is no way out of here: a mistake hits
 * a canary and nobody else.
 */
import { execFileSync, spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { startNameServer } from './name-server.mjs'

const { main, databaseUrl, mode, forbidden, helpers, port, dir, tasks } = JSON.parse(
  readFileSync(process.argv[2] ?? '', 'utf8'),
)
const PORT = 8080
/** Longer than the program keeps an answer of DNS that is good for no time at all. */
const OUTLIVED_MS = 1_100

const ip = (/** @type {string[]} */ ...args) => execFileSync('ip', args)
ip('link', 'set', 'lo', 'up')
for (const address of [...forbidden, ...helpers]) {
  const bits = address.includes(':') ? 128 : 32
  // Those of loopback are there already.
  try {
    ip('addr', 'add', `${address}/${bits}`, 'dev', 'lo')
  } catch {}
}
writeFileSync(`${dir}/hosts`, '127.0.0.1 localhost\n::1 localhost\n')
execFileSync('mount', ['--bind', `${dir}/hosts`, '/etc/hosts'])
writeFileSync(`${dir}/resolv.conf`, 'nameserver 127.0.0.1\noptions timeout:5 attempts:3\n')
execFileSync('mount', ['--bind', `${dir}/resolv.conf`, '/etc/resolv.conf'])
await startNameServer()

/** @type {string[]} */
const hits = []
const canary = createServer((socket) => {
  const address = (socket.localAddress ?? '').replace(/^::ffff:/, '')
  const isHelper = helpers.includes(address)
  if (!isHelper) hits.push(address)
  socket.on('error', () => {})
  socket.on('data', (data) => {
    // Helpers send everybody on to where they say they want to go; other calls must not get to them either.
    const [, status = '200', to = ''] =
      /^[A-Z]+ \/\?status=(\d+)&to=(\S*) HTTP/.exec(data.toString('latin1')) ?? []
    if (isHelper && to === '') hits.push(address)
    const location = to === '' ? '' : `location: ${decodeURIComponent(to)}\r\n`
    const answer = `HTTP/1.1 ${status} X\r\n${location}connection: close\r\ncontent-length: 0\r\n\r\n`
    // Who leads the asker elsewhere waits until its answer is no longer kept.
    setTimeout(() => socket.end(answer), to.includes('turn-') ? OUTLIVED_MS : 0)
  })
})
await new Promise((resolve) =>
  canary.listen({ port: PORT, host: '::', ipv6Only: false }, () => resolve(undefined)),
)

// The canaries sing when somebody does come: without this, silence would mean nothing.
for (const host of forbidden)
  await new Promise((resolve) => {
    const socket = connect({ port: PORT, host, timeout: 2_000 }, () => socket.end('x'))
    socket.on('close', resolve)
    socket.on('error', resolve)
    socket.on('timeout', () => socket.destroy())
    socket.resume()
  })
const control = hits.splice(0)

// Without what the tests tell one another: the program refuses settings that it does not know.
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('BELFRY_')))
const belfry = spawn(
  process.execPath,
  [
    main,
    'start',
    '--port',
    String(port),
    '--database-url',
    databaseUrl,
    '--private-addresses',
    mode,
    '--concurrency',
    '100',
  ],
  { cwd: dir, env, stdio: ['ignore', 'pipe', 'inherit'] },
)
const url = await new Promise((resolve, reject) => {
  let said = ''
  belfry.once('exit', (code) => reject(new Error(`the program ended with ${code}: ${said}`)))
  belfry.stdout.on('data', (data) => {
    said += data
    const [, found] = /API {2,}(http:\S+)\/v1\/tasks/.exec(said) ?? []
    if (found && /Ready\./.test(said)) resolve(found)
  })
})

const request = async (method, path, body) => {
  const answer = await fetch(url + path, {
    method,
    headers: { 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return { status: answer.status, body: await answer.json() }
}
/** Runs that have ended, by task. */
async function endedRuns() {
  const ended = new Map()
  for (let cursor = ''; ; ) {
    const { body } = await request('GET', `/v1/runs?limit=200${cursor}`)
    for (const run of body.items ?? []) if (run.endedAt) ended.set(run.taskId, run)
    if (!body.nextCursor) return ended
    cursor = `&cursor=${encodeURIComponent(body.nextCursor)}`
  }
}
const created = await request('POST', '/v1/tasks/bulk', { tasks })
const ids = (created.body.items ?? []).map(({ id }) => id)
let ended = await endedRuns()
while (ids.some((id) => !ended.has(id))) {
  await new Promise((resolve) => setTimeout(resolve, 200))
  ended = await endedRuns()
}
const outcomes = ids.map((id, i) => {
  const { state, error } = ended.get(id)
  return { url: tasks[i].action.url, state, code: error?.code ?? null }
})
const queues = await request('GET', '/v1/queues')
const paused = queues.body.items.filter(({ pausedAt }) => pausedAt !== null).map(({ name }) => name)
const exited = new Promise((resolve) => belfry.once('exit', resolve))
belfry.kill('SIGTERM')
await exited
const report = {
  created: created.status,
  problem: created.body.detail ?? null,
  control,
  hits,
  paused,
  outcomes,
}
process.stdout.write(`${JSON.stringify(report)}\n`, () => process.exit(0))
