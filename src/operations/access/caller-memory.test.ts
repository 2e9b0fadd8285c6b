import { expect, test } from 'vitest'
import { CallerMemory, MAX_LOOKUPS, MAX_WAITING } from './caller-memory.ts'

/** Reads that wait until the test provides their result. */
function reads() {
  const pending: { found: (value: string | null) => void; failed: (error: Error) => void }[] = []
  const read = () =>
    new Promise<string | null>((resolve, reject) => pending.push({ found: resolve, failed: reject }))
  return { pending, read }
}
const aMemory = ({ freshMs = 60_000, max = 3 } = {}) => new CallerMemory<string>({ freshMs, max })
const never = () => Promise.reject(new Error('nothing should be read'))
const settled = () => new Promise((resolve) => setImmediate(resolve))

test('a value is read once and then known without waiting', async () => {
  const memory = aMemory()
  const { pending, read } = reads()

  const both = [memory.get('a', read), memory.get('a', read)]
  pending[0]?.found('A')

  expect(await Promise.all(both)).toEqual(['A', 'A'])
  expect(pending).toHaveLength(1)
  expect(memory.get('a', never)).toBe('A')
})

test('names that do not exist are remembered, and push out no values', async () => {
  const memory = aMemory()
  await memory.get('a', async () => 'A')

  for (let i = 0; i < 10; i++) await memory.get(`unknown ${i}`, async () => null)

  expect(memory.get('unknown 9', never)).toBeNull()
  expect(memory.get('a', never)).toBe('A')
})

test('unknown names are looked up a few at a time, and known ones do not wait for them', async () => {
  const memory = aMemory({ freshMs: 0 })
  await memory.get('a', async () => 'A')
  const { pending, read } = reads()
  const lookups = Array.from({ length: MAX_LOOKUPS + MAX_WAITING }, (_, i) =>
    memory.get(`unknown ${i}`, read),
  )

  await expect(memory.get('one more', read)).rejects.toMatchObject({ code: 'busy' })
  expect(await memory.get('a', async () => 'A2')).toBe('A2')
  expect(pending).toHaveLength(MAX_LOOKUPS)

  for (let i = 0; i < lookups.length; i++) {
    pending[i]?.found(i === 7 ? 'valid' : null)
    await settled()
  }
  const found = await Promise.all(lookups)
  expect(found.filter((value) => value !== null)).toEqual(['valid'])
  expect(found[7]).toBe('valid')
  expect(await memory.get('one more', async () => 'B')).toBe('B')
})

test('after a change everything is read again, and a read from before it does not count', async () => {
  const memory = aMemory()
  const { pending, read } = reads()
  await memory.get('known', async () => 'old')
  const early = memory.get('new', read)

  memory.forget()
  const late = memory.get('new', read)
  pending[1]?.found('made')
  expect(await late).toBe('made')
  pending[0]?.found(null)
  expect(await early).toBeNull()

  expect(await memory.get('known', async () => 'new')).toBe('new')
  expect(memory.get('new', never)).toBe('made')
})

test('a failed read is not remembered, and a known name stays known', async () => {
  const memory = aMemory({ freshMs: 0 })
  await memory.get('a', async () => 'A')
  const { read } = reads()
  for (let i = 0; i < MAX_LOOKUPS + MAX_WAITING; i++) void memory.get(`unknown ${i}`, read)

  await expect(memory.get('a', () => Promise.reject(new Error('no database')))).rejects.toThrow('no database')

  expect(await memory.get('a', async () => 'again')).toBe('again')
})

test('a value that is gone is unknown', async () => {
  const memory = aMemory({ freshMs: 0 })
  await memory.get('a', async () => 'A')

  expect(await memory.get('a', async () => null)).toBeNull()
  expect(memory.get('a', never)).toBeNull()
})
