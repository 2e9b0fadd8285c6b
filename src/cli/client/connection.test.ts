import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { connectionFrom } from './connection.ts'
import { writeProfiles } from './profiles.ts'

const before = process.env['XDG_CONFIG_HOME']

beforeAll(() => {
  process.env['XDG_CONFIG_HOME'] = mkdtempSync(join(inject('scratch'), 'connection-'))
  writeProfiles(
    new Map([
      ['default', { server: 'http://one.example', key: 'key-of-default' }],
      ['prod', { server: 'http://two.example', key: 'key-of-prod' }],
    ]),
    join(process.env['XDG_CONFIG_HOME'], 'belfry', 'profiles.json'),
  )
})

afterAll(() => {
  if (before === undefined) delete process.env['XDG_CONFIG_HOME']
  else process.env['XDG_CONFIG_HOME'] = before
})

const FLAG = { server: 'http://flag.example' }
const ENV = { BELFRY_URL: 'http://env.example', BELFRY_KEY: 'key-of-env' }

test.runIf(process.platform === 'linux').each([
  ['the default profile', {}, {}, 'http://one.example', 'key-of-default'],
  ['a flag names a profile', { profile: 'prod' }, {}, 'http://two.example', 'key-of-prod'],
  ['a variable names a profile', {}, { BELFRY_PROFILE: 'prod' }, 'http://two.example', 'key-of-prod'],
  ['variables before the default profile', {}, ENV, 'http://env.example', 'key-of-env'],
  [
    'variables before a profile that a variable names',
    {},
    { ...ENV, BELFRY_PROFILE: 'prod' },
    'http://env.example',
    'key-of-env',
  ],
  ['a flag for a profile before variables', { profile: 'prod' }, ENV, 'http://two.example', 'key-of-prod'],
  [
    'flags before all',
    { ...FLAG, apiKey: 'key-of-flag', profile: 'prod' },
    ENV,
    'http://flag.example',
    'key-of-flag',
  ],
  ['the key of a profile for no other server', FLAG, {}, 'http://flag.example', null],
  ['nor one that a variable names', {}, { BELFRY_URL: 'http://env.example' }, 'http://env.example', null],
  ['nor with the profile named', { ...FLAG, profile: 'prod' }, ENV, 'http://flag.example', null],
  ['but for the same server', { server: 'http://one.example/' }, {}, 'http://one.example', 'key-of-default'],
  ['a key of its own for the server of a profile', { apiKey: 'mine' }, {}, 'http://one.example', 'mine'],
] as const)('%s', (_, flags, env, url, key) => {
  expect(connectionFrom(flags, env)).toEqual({ url, key })
})

test('a profile that does not exist is an error, with how to create it', () => {
  expect(() => connectionFrom({ profile: 'none' }, {})).toThrow("The profile 'none' does not exist.")
})

test.each([
  ['BELFRY_SERVER', 'BELFRY_URL'],
  ['BELFRY_API_KEY', 'BELFRY_KEY'],
])('%s, named after the flag, is refused, and the hint names %s', (name, right) => {
  const read = () => connectionFrom({}, { [name]: 'http://one.example' })

  expect(read).toThrow(expect.objectContaining({ hint: `Set ${right} instead, and unset ${name}.` }))
})

test.each([
  [
    'a flag decides',
    { ...FLAG, apiKey: 'mine' },
    { BELFRY_SERVER: 'http://one.example', BELFRY_API_KEY: 'other' },
  ],
  [
    'a profile is named',
    { profile: 'prod' },
    { BELFRY_SERVER: 'http://one.example', BELFRY_API_KEY: 'other' },
  ],
  ['it is empty', {}, { BELFRY_SERVER: '', BELFRY_API_KEY: '' }],
] as const)('a variable named after its flag is not refused if %s', (_, flags, env) => {
  expect(() => connectionFrom(flags, env)).not.toThrow()
})
