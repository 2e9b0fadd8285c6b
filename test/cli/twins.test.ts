/** The command that the form shows, read by the command line, is the task that the form describes. */
import { Command } from 'commander'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { addTaskFlags, readTaskFlags } from '../../src/cli/client/task-flags.ts'
import type { TaskInput } from '../../web/api/wire.ts'
import { createCommand, wordsOf } from '../../web/screens/task-form/command.ts'
import { type Document, operationsOf, type Schema } from '../api/document.ts'
import { arbitraryOf } from '../api/schema-arbitrary.ts'
import { createTestApp } from '../api/test-app.ts'
import { createTestDatabase } from '../support/database.ts'

const { send } = await createTestApp(await createTestDatabase())
const document: Document = (await send('GET', '/openapi.json')).body
const edit = operationsOf(document).find(({ operationId }) => operationId === 'editTask')
const fields = edit?.requestBody?.content['application/json']?.schema as Schema

async function read(words: readonly string[]): Promise<Record<string, unknown>> {
  const command = addTaskFlags(new Command().exitOverride().option('--name <name>'))
  command.parse([...words], { from: 'user' })
  const { name } = command.opts()
  return { ...(await readTaskFlags(command.opts())), ...(name === undefined ? {} : { name: name || null }) }
}

test('the command line can express every edit that the API accepts', async () => {
  await fc.assert(
    fc.asyncProperty(arbitraryOf(document, fields, 'any'), async (input) => {
      const plain = JSON.parse(JSON.stringify(input))
      expect(await read(wordsOf(plain).flat())).toEqual(plain)
    }),
    { numRuns: 500 },
  )
})

test('common fields become flags, one per line', () => {
  const input: TaskInput = {
    name: "don't wait",
    action: {
      type: 'http',
      url: 'https://example.com/a?b=c',
      method: 'PUT',
      headers: { accept: 'text/plain' },
      body: { a: 1 },
      expect: [200, '3xx'],
    },
    schedule: { type: 'cron', expression: '30 9 * * MON-FRI', timezone: 'Europe/Berlin' },
    retry: { limit: 5, initial: '1s', max: '1m' },
    tags: ['nightly', 'two words'],
  }

  expect(createCommand(input, { server: 'http://127.0.0.1:3369' })).toBe(
    [
      `belfry task create 'don'\\''t wait'`,
      `--action 'http:https://example.com/a?b=c'`,
      '--method PUT',
      `--header 'accept: text/plain'`,
      `--body '{"a":1}'`,
      '--expect 200,3xx',
      `--cron '30 9 * * MON-FRI'`,
      '--timezone Europe/Berlin',
      '--retries 5',
      '--retry-initial 1s',
      '--retry-max 1m',
      '--tag nightly',
      `--tag 'two words'`,
    ].join(' \\\n  '),
  )
})

test('the fields of messages become flags', async () => {
  const slack = {
    type: 'slack',
    url: 'https://hooks.slack.com/services/T0/B0/x',
    text: '@here: it is "done"',
  }
  const email = {
    type: 'email',
    to: ['Ada <ada@example.com>', 'bob@example.com'],
    cc: ['carol@example.com'],
    from: 'belfry@example.com',
    replyTo: 'ops@example.com',
    subject: 'Done',
    text: 'It is done.',
    html: '<p>It is done.</p>',
  }

  const words = [slack, email].map((action) => wordsOf({ action }).flat())

  expect(words[0]).toEqual(['--action', `slack:${slack.url}`, '--text', slack.text])
  expect(words[1]?.slice(0, 4)).toEqual([
    '--action',
    'email:Ada <ada@example.com>',
    '--to',
    'bob@example.com',
  ])
  expect(await Promise.all(words.map(read))).toEqual([{ action: slack }, { action: email }])
})
