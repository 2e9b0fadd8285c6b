import { Command } from 'commander'
import { expect, test } from 'vitest'
import { CliError, EXIT } from '../exit.ts'
import { addTaskFlags, flagAt, readTaskFlags } from './task-flags.ts'

const read = (words: readonly string[], current = {}) =>
  readTaskFlags(
    addTaskFlags(new Command().exitOverride())
      .parse([...words], { from: 'user' })
      .opts(),
    current,
  )

test.each([
  [['--action', 'sleep'], "--action is 'sleep'; it must be like sleep:1s"],
  [['--action', 'sleep:'], "--action is 'sleep:'; it must be like sleep:1s"],
  [['--action', '{"type":'], '--action begins like JSON and is none.'],
  [['--body', '1'], 'Nothing says what to do.'],
  [['--action', 'http:http://x', '--header', 'accept'], "--header is 'accept'; it must be like"],
  [['--every', '1s', '--daily', '9:00'], 'A task has one schedule; --every and --daily give more.'],
  [['--daily', 'noon'], "--daily is 'noon'; it must be a time such as 09:30."],
  [['--timezone', 'UTC'], '--timezone is about a schedule, and there is none.'],
  [['--schedule', '[]', '--timezone', 'UTC'], 'A list of triggers says itself'],
  [['--file', '/nowhere.json'], '/nowhere.json cannot be read'],
  [['--metadata', '{'], '--metadata is not JSON'],
  [['--set', 'x'], "--set is 'x'; it must be like priority=5."],
])('%j is wrong usage', async (words, message) => {
  const error = await read(words).catch((reason: unknown) => reason)

  expect(error).toBeInstanceOf(CliError)
  expect((error as CliError).message).toContain(message)
  expect((error as CliError).exitCode).toBe(EXIT.usage)
})

test('flags that say more about an action or a schedule change the one there is', async () => {
  const current = {
    action: { type: 'http', url: 'http://x', method: 'PUT', body: 'a' },
    schedule: { type: 'cron', expression: '0 9 * * *', timezone: 'Europe/Berlin' },
  }

  expect(await read(['--method', 'GET', '--gap', 'skip'], current)).toEqual({
    action: { ...current.action, method: 'GET' },
    schedule: { ...current.schedule, gap: 'skip' },
  })
  expect(await read(['--action', 'ping:http://y', '--daily', '7:05'], current)).toEqual({
    action: { type: 'ping', url: 'http://y' },
    schedule: { type: 'daily', hour: 7, minute: 5, timezone: 'Europe/Berlin' },
  })
})

test('an empty value takes a field away', async () => {
  expect(await read(['--owner', '', '--tag', '', '--max-runs', ''])).toEqual({
    owner: null,
    tags: [],
    maxRuns: null,
  })
})

test.each([
  ['/retry/limit', '--retries'],
  ['/tags/3', '--tag'],
  ['/action/headers/accept', '--header'],
  ['/schedule/interval', '--delay'],
  ['/schedule', '--schedule'],
  ['/unheard/of', 'unheard.of'],
  ['', 'the task'],
])('what is wrong at %s is told as %s', (pointer, flag) => {
  expect(flagAt(pointer, { delay: '1x' })).toBe(flag)
})
