/**
 * A receiver of run events in a separate process: by webhook, or on the stream, which is cut now and then and resumed where it
 * broke. For each event it records how long after the end of the run the event arrived.
 */
import { createServer, get } from 'node:http'
import { serve } from '../peers/channel.mjs'

/** @type {Map<string, number>} */
const delays = new Map()
let received = 0
let messages = 0
let connections = 0

/** @param {{ id: string, time: string }} event */
function record({ id, time }) {
  received++
  if (!delays.has(id)) delays.set(id, Date.now() - Date.parse(time))
}

const server = createServer((request, response) => {
  const chunks = []
  request.on('data', (chunk) => chunks.push(chunk))
  request.on('end', () => {
    messages++
    for (const event of [JSON.parse(Buffer.concat(chunks).toString())].flat()) record(event)
    response.end()
  })
})

let lastId = ''
let isFollowing = false
/** @type {import('node:http').ClientRequest | undefined} */
let stream

/** @param {string} url */
function follow(url) {
  return new Promise((resolve) => {
    connections++
    const headers = lastId === '' ? {} : { 'last-event-id': lastId }
    stream = get(`${url}/v1/events`, { headers }, (response) => {
      let rest = ''
      response.setEncoding('utf8')
      response.on('data', (chunk) => {
        const parts = (rest + chunk).split('\n\n')
        rest = parts.pop() ?? ''
        for (const part of parts) {
          const field = (/** @type {string} */ name) => new RegExp(`^${name}: (.*)$`, 'm').exec(part)?.[1]
          lastId = field('id') ?? lastId
          if (field('event') === 'hello') resolve(undefined)
          else if (field('event')?.startsWith('belfry.run.')) record(JSON.parse(field('data') ?? '{}'))
        }
      })
      response.on('error', () => {})
    })
    stream.on('error', () => {})
    stream.on('close', () => {
      if (isFollowing) void follow(url)
    })
  })
}

serve({
  listen: () =>
    new Promise((resolve) =>
      server.listen(0, '127.0.0.1', () => resolve(`http://127.0.0.1:${server.address().port}`)),
    ),
  follow: (/** @type {{ url: string }} */ { url }) => {
    isFollowing = true
    return follow(url)
  },
  cut: () => void stream?.destroy(),
  leave: () => {
    isFollowing = false
    stream?.destroy()
  },
  count: () => delays.size,
  read: () => ({ received, messages, connections, distinct: delays.size, delaysMs: [...delays.values()] }),
})
