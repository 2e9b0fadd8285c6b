/** `belfry task why` and `belfry task ledger`: the real program against a real server. */
import { expect, test } from 'vitest'
import { createTestDatabase } from '../support/database.ts'
import { startTestNode } from '../support/node.ts'
import { runBelfry } from '../support/process.ts'

const node = await startTestNode(await createTestDatabase())
const belfry = (...args: string[]) => runBelfry(args, { env: { BELFRY_SERVER: node.url } })

test('a paused task says so, and its ledger is in order', async () => {
  await belfry('task', 'create', 'hello', '--every', '1h', '--action', 'sleep:0s', '--paused')

  const why = await belfry('task', 'why', 'hello')
  const code = await belfry('task', 'why', 'hello', '--field', 'code')
  const before = await belfry('task', 'why', 'hello', '--at', '2020-01-01T00:00:00Z')
  const ledger = await belfry('task', 'ledger', 'hello', '--since', '5m')
  const wrong = await belfry('task', 'ledger', 'hello', '--since', 'soon')

  expect(why).toMatchObject({ code: 0, stderr: '' })
  expect(why.stdout).toMatch(/^paused: The task is paused since .*\n {2}try: Let it go on/)
  expect(code.stdout).toBe('paused\n')
  expect(before.stdout).toMatch(/^not_created: /)
  expect(ledger).toMatchObject({ code: 0, stdout: expect.stringContaining('Everything is accounted for.') })
  expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('--since') })
})
