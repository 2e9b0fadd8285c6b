import { expect, test } from 'vitest'
import { type Flaw, JsonScan, type ScanBounds } from './json-scan.ts'

const bounds: ScanBounds = { depth: 8, values: 100 }

/** Looks a byte at a time, which must find the same as looking at all of it. */
function scan(text: string, given: ScanBounds = bounds): JsonScan {
  const bytes = new TextEncoder().encode(text)
  const [slow, fast] = [new JsonScan(bytes, given), new JsonScan(bytes, given)]
  while (!slow.step(1));
  expect(fast.step(Number.POSITIVE_INFINITY)).toBe(true)
  expect(slow.flaw).toEqual(fast.flaw)
  if (fast.flaw === null) expect(slow.list).toEqual(fast.list)
  return fast
}

test.each([
  '{}',
  '[]',
  '0',
  '"text"',
  ' { "a" : [ 1 , 2.5 , -3e2 , true , null , "x\\"]},{" ] , "b" : { "c" : "\\ud83d\\ude00 😀 \\u00e9" } } ',
  '{"a":',
  'nonsense',
  ']]]}}}',
  '"open',
  '"\\',
  '"\\u00',
  '',
])('%s has no flaw', (text) => {
  expect(scan(text).flaw).toBeNull()
})

test.each<[string, Flaw]>([
  [
    '{"a":[0,{"b":12345678901234567890}]}',
    { kind: 'number', path: ['a', 1, 'b'], literal: '12345678901234567890' },
  ],
  ['[1,2,1e400]', { kind: 'number', path: [2], literal: '1e400' }],
  ['-1e400', { kind: 'number', path: [], literal: '-1e400' }],
  ['{"a~/b\\n":"\\u0000"}', { kind: 'text', path: ['a~/b\n'] }],
  ['["\\ud800"]', { kind: 'text', path: [0] }],
  ['["\\ud800x"]', { kind: 'text', path: [0] }],
  ['["\\udc00\\ud800"]', { kind: 'text', path: [0] }],
  ['{"a":{"\\u0000":1}}', { kind: 'name', path: ['a'] }],
  ['[[[[[[[[[1]]]]]]]]]', { kind: 'depth', path: Array.from({ length: 8 }, () => 0) }],
  [`[${'1,'.repeat(100)}1]`, { kind: 'values', path: [] }],
])('%s is found to be wrong', (text, flaw) => {
  expect(scan(text).flaw).toEqual(flaw)
})

const list: ScanBounds = {
  ...bounds,
  values: 5,
  list: { name: 'tasks', items: 3, itemBytes: 20, otherBytes: 60 },
}

function itemsOf(text: string): string[] | undefined {
  const place = scan(text, list).list
  return place?.ends.map((end, i) => text.slice(i === 0 ? place.start : (place.ends[i - 1] ?? 0) + 1, end))
}

test.each<[string, string[] | undefined]>([
  ['{"tasks":[{"a":[1,2]},"],",3]}', ['{"a":[1,2]}', '"],"', '3']],
  ['{"x":[1,2],"tasks":[ 1 ],"y":[3]}', [' 1 ']],
  ['{"tasks":[1,]}', ['1', '']],
  ['{"tasks":[ ]}', []],
  ['{"t\\u0061sks":[1]}', ['1']],
  ['{"x":{"tasks":[1,2]}}', undefined],
  ['{"tasks":{"0":1}}', undefined],
  ['[{"tasks":[1]}]', undefined],
])('%s is taken apart', (text, items) => {
  expect(scan(text, list).flaw).toBeNull()
  expect(itemsOf(text)).toEqual(items)
})

test.each<[string, Flaw]>([
  ['{"tasks":[1,2,3,4]}', { kind: 'items', path: ['tasks'] }],
  ['{"tasks":[1,"123456789012345678901"]}', { kind: 'itemBytes', path: ['tasks', 1] }],
  [`{"tasks":["${'x'.repeat(100)}"]}`, { kind: 'itemBytes', path: ['tasks', 0] }],
  [`{"a":"${'x'.repeat(60)}","tasks":[1]}`, { kind: 'otherBytes', path: [] }],
  [`{"a":"${'x'.repeat(30)}","tasks":[1],"b":"${'x'.repeat(20)}"}`, { kind: 'otherBytes', path: [] }],
  ['{"tasks":[[1,2,3],[1,2,3,4,5]]}', { kind: 'values', path: ['tasks', 1] }],
])('%s is more than a list may hold', (text, flaw) => {
  expect(scan(text, list).flaw).toEqual(flaw)
})
