/**
 * A receiver as users have one, in a process of its own: it verifies signatures with the reference library and
 * answers 401 to what is not signed right, and 503 to all that comes to /busy. Its parent gives it secrets, and hears of each request.
 */
import { createServer } from 'node:http'
import { Webhook } from 'standardwebhooks'

/** @type {string[]} */
let secrets = []

const verifies = (/** @type {string} */ secret, body, headers) => {
  try {
    new Webhook(secret).verify(body, headers, { jsonParse: false })
    return true
  } catch {
    return false
  }
}

const server = createServer((request, response) => {
  const chunks = []
  request.on('data', (chunk) => chunks.push(chunk))
  request.on('end', () => {
    const body = Buffer.concat(chunks).toString()
    const verified = secrets.map((secret) => verifies(secret, body, request.headers))
    const isRight = secrets.length === 0 || verified.includes(true)
    process.send?.({ method: request.method, path: request.url, headers: request.headers, body, verified })
    const status = request.url === '/busy' ? 503 : isRight ? 200 : 401
    response.writeHead(status).end(isRight ? 'ok' : 'who are you?')
  })
})

process.on('message', (message) => {
  secrets = /** @type {{ secrets: string[] }} */ (message).secrets
  process.send?.({ heard: true })
})
process.on('disconnect', () => process.exit())
server.listen(0, '127.0.0.1', () => {
  process.send?.({ port: /** @type {import('node:net').AddressInfo} */ (server.address()).port })
})
