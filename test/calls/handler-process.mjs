/** An example worker that follows the protocol: it provides `greet`, performs the runs that it gets, and reports to its parent. */
import { randomUUID } from 'node:crypto'

const [server = ''] = process.argv.slice(2)
let token = ''

async function post(path, body) {
  const answer = await fetch(`${server}/v1/worker/${path}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(token === '' ? {} : { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify(body),
  })
  if (!answer.ok) throw new Error(`${path} was answered with ${answer.status}: ${await answer.text()}`)
  return answer.json()
}

process.on('disconnect', () => process.exit())
token = (await post('register', { handlers: ['greet'] })).token
process.send?.({ port: 0 })
for (;;) {
  const { runs } = await post('claim', { requestId: randomUUID(), limit: 5, waitMs: 5_000 })
  for (const { runId, fence, payload } of runs) {
    process.send?.({ runId, payload })
    const result = { greeting: `hello ${payload.name}` }
    await post('complete', { runs: [{ runId, fence, outcome: 'completed', result }] })
  }
}
