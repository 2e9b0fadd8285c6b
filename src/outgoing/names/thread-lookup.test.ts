import { expect, test } from 'vitest'
import { MAX_LOOKUP_THREADS, ThreadLookups } from './thread-lookup.ts'

test('lookups use at most two threads of the process, and the others wait', async () => {
  const threads = new ThreadLookups()
  const running: number[] = []

  const answers = await Promise.all(
    Array.from({ length: 20 }, async () => {
      const answer = threads.ask('localhost', () => {})
      running.push(threads.running)
      await answer
      running.push(threads.running)
      return answer
    }),
  )

  expect(answers.every((answer) => Array.isArray(answer) && answer.length > 0)).toBe(true)
  expect(Math.max(...running)).toBe(MAX_LOOKUP_THREADS)
  expect(threads.running).toBe(0)
})

test('a lookup that waits for a thread can be cancelled', async () => {
  const threads = new ThreadLookups()
  const first = Array.from({ length: MAX_LOOKUP_THREADS }, () => threads.ask('localhost', () => {}))

  const late = threads.ask('localhost', (cancel) => cancel())

  expect(await late).toEqual({ code: 'EAI_AGAIN' })
  await Promise.all(first)
  expect(threads.running).toBe(0)
})
