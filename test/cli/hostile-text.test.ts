/** What others have named is printed as text: it moves no cursor, rings no bell and begins no line. */
import { execFile, spawnSync } from 'node:child_process'
import { promisify } from 'node:util'
import { beforeAll, expect, test } from 'vitest'
import { createTestDatabase } from '../support/database.ts'
import { aManualTask, startTestNode } from '../support/node.ts'
import { MAIN, runBelfry } from '../support/process.ts'

const EVIL = 'evil\u001b]0;pwned\u0007\u001b[2J\r\u009b31m\u202e'
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there.
const CONTROL = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/

const node = await startTestNode(await createTestDatabase(), { roles: 'api' })
const env = { BELFRY_URL: node.url }
let id: string

/** Nothing is shown of what was refused. */
async function store(method: string, path: string, body: object) {
  const { status } = await node.request(method, path, body)
  expect(status, path).toBeLessThan(300)
}

beforeAll(async () => {
  id = await aManualTask(node, { name: EVIL, key: `${EVIL}key`, owner: EVIL, tags: [EVIL] })
  await store('POST', `/v1/tasks/${id}/pause`, { reason: EVIL })
  await store('PATCH', `/v1/tasks/${id}`, { name: `${EVIL}2`, reason: EVIL })
  await store('POST', '/v1/subscriptions', { name: EVIL, url: 'http://127.0.0.1:9/' })
  const window = { type: 'range', from: '2099-01-01T00:00:00Z', to: '2099-01-02T00:00:00Z' }
  await store('POST', '/v1/blackouts', { name: EVIL, window })
})

const printed = async (words: readonly string[]) => {
  const { code, stdout, stderr } = await runBelfry(
    words.map((word) => (word === 'ID' ? id : word)),
    { env },
  )
  expect(stdout).not.toMatch(CONTROL)
  expect(stderr).not.toMatch(CONTROL)
  return { code, text: stdout + stderr }
}

test.each([
  ['task', 'list'],
  ['task', 'show', 'ID'],
  ['task', 'versions', 'ID'],
  ['task', 'diff', 'ID', '1'],
  ['subscription', 'list'],
  ['blackout', 'list'],
])('belfry %s %s escapes control characters in names', async (...words) => {
  const { code, text } = await printed(words)

  expect(code).toBe(0)
  expect(text).toContain('evil\\u001b]0;pwned')
})

test.each([
  ['task', 'show', EVIL],
  ['task', 'list', '--state', EVIL],
])('the error of belfry %s %s escapes control characters', async (...words) => {
  const { code, text } = await printed(words)

  expect(code).not.toBe(0)
  expect(text).not.toContain('cannot be reached')
})

test('--json and --field print values exactly if stdout is not a terminal', async () => {
  const shown = await runBelfry(['task', 'show', id, '--json'], { env })
  const field = await runBelfry(['task', 'show', id, '--field', 'owner'], { env })

  expect(JSON.parse(shown.stdout).owner).toBe(EVIL)
  expect(shown.stdout).not.toMatch(CONTROL)
  expect(field.stdout).toBe(`${EVIL}\n`)
})

const hasScript = spawnSync('script', ['--version']).status === 0

test.skipIf(!hasScript)('--field escapes control characters on a terminal', async () => {
  const command = `'${process.execPath}' '${MAIN}' task show ${id} --field owner`
  const { stdout } = await promisify(execFile)('script', ['-qec', command, '/dev/null'], {
    env: { ...process.env, ...env },
  })

  expect(stdout.replaceAll('\r\n', '\n')).not.toMatch(CONTROL)
  expect(stdout).toContain('evil\\u001b]0;pwned')
})
