import { expect, test } from 'vitest'
import { Watch } from './watch.ts'

test('a value that stops changing becomes quiet, and one that changes does not', () => {
  let now = 0
  const watch = new Watch(4_000, () => now)
  for (let pass = 0; pass < 5; pass++) {
    watch.see('still', '1')
    watch.see('beating', String(pass))
    watch.endPass()
    now += 2_000
  }

  expect(watch.quietMs('still')).toBe(8_000)
  expect(watch.quietMs('beating')).toBe(0)
})

test('an hour without readings counts as quiet for one step only', () => {
  let now = 0
  const watch = new Watch(4_000, () => now)
  watch.see('node', '1')
  watch.endPass()
  now += 3_600_000
  watch.see('node', '1')
  watch.endPass()

  expect(watch.quietMs('node')).toBe(4_000)
})
