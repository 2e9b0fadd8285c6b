import { expect, test } from 'vitest'
import { findFault, findPathFault, MAX_VARIABLES, MAX_WORK_FILES } from './check-program.ts'
import type { Program } from './sandbox.ts'

const program = (some: Partial<Program>): Program => ({
  ...{
    executable: '/bin/true',
    name: null,
    args: [],
    env: {},
    stdin: null,
    files: [],
    readable: [],
    network: false,
  },
  limits: { memoryBytes: 1, cpus: 1, processes: 1, fileBytes: 1, openFiles: 1, outputBytes: 1 },
  ...{ timeoutMs: null, graceMs: 0 },
  ...some,
})
const file = (path: string) => ({ path, source: '/etc/hostname', executable: false })

test.each([
  '/etc/passwd',
  '../outside',
  'a/../../b',
  'a/..',
  '.',
  './a',
  'a//b',
  'a/',
  '',
  'nul\0byte',
  `${'x'.repeat(256)}`,
  `${'d/'.repeat(600)}f`,
])('the path %j does not fit into a work directory', (path) => {
  expect(findPathFault([path])).toMatch(/does not fit into a work directory/)
})

test.each(['a', 'a/b/c.txt', '..a', 'a..', '...', 'with space', '-rf', 'ünï/cödé'])(
  'the path %j fits into a work directory',
  (path) => {
    expect(findPathFault([path])).toBeNull()
  },
)

test('two files cannot have one path, and a file cannot be a folder', () => {
  expect(findPathFault(['a', 'b', 'a'])).toBe('Two files have the path "a".')
  expect(findPathFault(['a/b', 'a'])).toBe('The path "a" is used as both a file and a directory.')
  expect(findPathFault(['a', 'a.b', 'ab/c'])).toBeNull()
})

test.each<[string, Partial<Program>, RegExp]>([
  ['a relative executable', { executable: 'bin/true' }, /absolute path/],
  ['a name with a slash', { name: '../x' }, /not a file name/],
  ['an argument with a zero byte', { args: ['a\0b'] }, /U\+0000/],
  ['a variable with a zero byte', { env: { A: 'a\0b' } }, /A contains/],
  [
    'a variable that a shell takes for a function',
    { env: { 'BASH_FUNC_ulimit%%': '() { :; }' } },
    /not a name/,
  ],
  ['a variable with an equals sign', { env: { 'A=B': '' } }, /not a name/],
  ['an argument that the kernel refuses', { args: ['x'.repeat(128 * 1024)] }, /longer than 131071 bytes/],
  [
    'a variable that the kernel refuses',
    { env: { A: 'x'.repeat(128 * 1024 - 2) } },
    /longer than 131071 bytes/,
  ],
  ['too many arguments', { args: Array(4_001).fill('x') }, /at most 4000 arguments/],
  [
    'arguments that are too long together',
    { args: Array(11).fill('x'.repeat(100_000)) },
    /longer than 1048576 bytes/,
  ],
  [
    'too many variables',
    { env: Object.fromEntries(Array.from({ length: MAX_VARIABLES + 1 }, (_, i) => [`V${i}`, ''])) },
    /At most/,
  ],
  [
    'too many files',
    { files: Array.from({ length: MAX_WORK_FILES + 1 }, (_, i) => file(`f${i}`)) },
    /At most/,
  ],
  ['a file from a relative path', { files: [{ ...file('a'), source: 'x' }] }, /absolute path/],
  ['too many readable paths', { readable: Array(65).fill('/opt') }, /At most 64/],
  ['a relative readable path', { readable: ['opt'] }, /absolute path/],
])('%s is refused', (_, some, sentence) => {
  expect(findFault(program(some))).toMatch(sentence)
})

test('an ordinary program is accepted', () => {
  const env = { A: '1', _b: 'x'.repeat(1000), C3: '' }

  expect(
    findFault(program({ name: 'a b.sh', args: ['-x', ''], env, files: [file('a/b')], readable: ['/opt'] })),
  ).toBeNull()
})
