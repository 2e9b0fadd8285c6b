/** A receiver that keeps everybody waiting until its parent says otherwise, and tells who came and who left. */
import { createServer } from 'node:http'

/** @type {Set<import('node:http').ServerResponse>} */
const held = new Set()

const server = createServer((request, response) => {
  request.resume()
  process.send?.({ opened: request.url, at: Date.now() })
  held.add(response)
  response.on('close', () => {
    if (held.delete(response)) process.send?.({ closed: request.url, at: Date.now() })
  })
})
process.on('message', () => {
  for (const response of held) response.end('at last')
  process.send?.({ heard: true })
})
process.on('disconnect', () => process.exit())
server.listen(0, '127.0.0.1', () => process.send?.({ port: server.address().port }))
