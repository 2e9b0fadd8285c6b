/**
 * The receiver of calls, in a separate process: an HTTP server that records each request before and after it answers. Its
 * behavior is set in the address that is called, so whoever creates a task decides it:
 * - `?ms=40`: answers after this long
 * - `?first=4000`: answers the first delivery of a message after this long
 * - `?fail=2`: answers the first two deliveries of a message with an error
 * - `?status=404`: the status of that error (default 503)
 * - `?retryAfter=1`: how many seconds the sender must wait after that error
 * - `?hold=2`: the first two deliveries of a message wait until they are released, each by its number
 */
import { createServer } from 'node:http'

/** Number of deliveries of each message so far. */
const counts = new Map()
/** Held answers, by path and by the number of the delivery of its message. */
const held = []
let entries = 0

const tell = (/** @type {object} */ entry) => process.send?.(entry)

const server = createServer((request, response) => {
  const header = (/** @type {string} */ name) => String(request.headers[name] ?? '')
  const url = new URL(request.url ?? '/', 'http://sink')
  const option = (/** @type {string} */ name, fallback = 0) => Number(url.searchParams.get(name) ?? fallback)
  request.resume().once('end', () => {
    const id = entries++
    const messageId = header('webhook-id')
    const count = (counts.get(messageId) ?? 0) + 1
    counts.set(messageId, count)
    const isFailure = count <= option('fail')
    const retryAfterMs = isFailure && url.searchParams.has('retryAfter') ? option('retryAfter') * 1_000 : null
    tell({
      received: {
        id,
        path: url.pathname,
        receivedAt: Date.now(),
        retryAfterMs,
        messageId,
        taskId: header('belfry-task-id'),
        scheduledFor: Date.parse(header('belfry-scheduled-for')),
        fence: Number(header('belfry-fence')),
        attempt: Number(header('belfry-attempt')),
      },
    })
    const answer = () => {
      if (response.destroyed) return
      const status = isFailure ? option('status', 503) : 200
      // The sender receives the answer after this instant, and the answer counts only once it was handed over.
      const at = Date.now()
      response.once('finish', () => tell({ answered: { id, at, status } }))
      if (retryAfterMs !== null) response.setHeader('retry-after', retryAfterMs / 1_000)
      response.writeHead(status).end()
    }
    response.once('close', () => {
      if (!response.writableFinished) tell({ gone: { id, at: Date.now() } })
    })
    const ms = count === 1 ? option('first', option('ms')) : option('ms')
    if (count <= option('hold')) held.push({ path: url.pathname, count, answer })
    else if (ms > 0) setTimeout(answer, ms)
    else answer()
  })
})

process.on('message', (/** @type {{ release: { prefix: string, count: number } }} */ { release }) => {
  for (const { path, count, answer } of held)
    if (path.startsWith(release.prefix) && count === release.count) answer()
})
process.once('disconnect', () => process.exit())
server.listen(0, '127.0.0.1', () => tell({ port: server.address().port }))
