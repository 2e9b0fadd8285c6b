import { chmodSync, mkdirSync, mkdtempSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { profileName, readProfiles, writeProfiles } from './profiles.ts'

const KEY = 'bf_secret'
const aFile = () => join(mkdtempSync(join(inject('scratch'), 'profiles-')), 'config', 'profiles.json')
const some = new Map([
  ['default', { server: 'http://127.0.0.1:3369', key: KEY }],
  ['prod', { server: 'https://belfry.example.com', key: 'bf_other' }],
])
const modeOf = (path: string) => statSync(path).mode & 0o777

test('stored profiles are read back, and only their owner can open the file and its directory', () => {
  const file = aFile()
  mkdirSync(join(file, '..'), { mode: 0o755 })

  writeProfiles(new Map([['old', { server: 'http://localhost', key: 'x' }]]), file)
  writeProfiles(some, file)

  expect(readProfiles(file)).toEqual(some)
  expect([modeOf(file), modeOf(join(file, '..'))]).toEqual([0o600, 0o700])
  expect(readdirSync(join(file, '..'))).toEqual(['profiles.json'])
})

test('without a file there are no profiles', () => {
  expect(readProfiles(aFile())).toEqual(new Map())
})

test.each([0o640, 0o604, 0o622, 0o644])(
  'a file of mode %o is refused with a message that contains no key',
  (mode) => {
    const file = aFile()
    writeProfiles(some, file)
    chmodSync(file, mode)

    expect(() => readProfiles(file)).toThrow(
      `contains API keys, and other users can read or change it (mode ${mode.toString(8)}).`,
    )
    expect(() => readProfiles(file)).not.toThrow(KEY)
  },
)

test.each(['', '{', '[]', '{"profiles":{"a":{"server":1}}}', '{"profiles":{"a":null}}'])(
  'a file with the content %j is reported as damaged',
  (content) => {
    const file = aFile()
    writeProfiles(some, file)
    writeFileSync(file, content)

    expect(() => readProfiles(file)).toThrow('the file is damaged')
  },
)

test('a write that fails leaves no temporary file behind', () => {
  const file = aFile()
  mkdirSync(file, { recursive: true })

  expect(() => writeProfiles(some, file)).toThrow(`The profile cannot be stored in ${file}`)
  expect(readdirSync(join(file, '..'))).toEqual(['profiles.json'])
})

test('the flag takes precedence over the variable', () => {
  expect(profileName('a', { BELFRY_PROFILE: 'b' })).toBe('a')
  expect(profileName(undefined, { BELFRY_PROFILE: 'b' })).toBe('b')
  expect(profileName(undefined, {})).toBeNull()
  for (const wrong of ['', '../x', 'a b', '-x', 'x'.repeat(65)])
    expect(() => profileName(wrong, {})).toThrow('is not valid')
})
