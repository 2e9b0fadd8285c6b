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
  [['--action', 'sleep'], "--action is 'sleep'; it must have a form such as sleep:1s"],
  [['--action', 'sleep:'], "--action is 'sleep:'; it must have a form such as sleep:1s"],
  [['--action', '{"type":'], '--action starts like JSON but is not valid JSON.'],
  [['--body', '1'], 'The task has no action.'],
  [['--action', 'http:http://x', '--header', 'accept'], "--header is 'accept'; it must have the form"],
  [['--every', '1s', '--daily', '9:00'], 'A task has one schedule; use only one of --every and --daily.'],
  [['--daily', 'noon'], "--daily is 'noon'; it must be a time such as 09:30."],
  [['--timezone', 'UTC'], '--timezone needs a schedule.'],
  [['--schedule', '[]', '--timezone', 'UTC'], 'In a list of triggers, set'],
  [['--file', '/nowhere.json'], 'Cannot read /nowhere.json'],
  [['--metadata', '{'], '--metadata is not JSON'],
  [['--set', 'x'], "--set is 'x'; it must have the form FIELD=JSON, such as priority=5."],
])('%j is wrong usage', async (words, message) => {
  const error = await read(words).catch((reason: unknown) => reason)

  expect(error).toBeInstanceOf(CliError)
  expect((error as CliError).message).toContain(message)
  expect((error as CliError).exitCode).toBe(EXIT.usage)
})

test('flags with details of an action or a schedule change the existing one', async () => {
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

test('an empty value clears a field', async () => {
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
])('an error at %s is reported for %s', (pointer, flag) => {
  expect(flagAt(pointer, { delay: '1x' })).toBe(flag)
})
