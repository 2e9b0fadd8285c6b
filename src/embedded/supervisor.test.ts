import { expect, test } from 'vitest'
import type { EmbeddedPostgres } from './server.ts'
import { MAX_RESTARTS, restartDelayMs, superviseEmbeddedPostgres } from './supervisor.ts'

/** A server that ends when told to, and whose restarts go as `restart` says. */
function aServer(restart: (exit: () => void) => void) {
  let exit = () => {}
  const server = {
    pid: 1,
    onExit(listener: () => void) {
      exit = listener
      return () => {}
    },
    restart: async () => restart(exit),
  } as unknown as EmbeddedPostgres
  return { server, exit: () => exit() }
}

/** Supervises until the server is given up on; returns what was said and why. */
function untilGivenUp({ server, exit }: ReturnType<typeof aServer>) {
  return new Promise<{ said: string[]; error: unknown }>((resolve) => {
    const said: string[] = []
    superviseEmbeddedPostgres(server, {
      log: (text) => said.push(text),
      onGivenUp: (error) => resolve({ said, error }),
      delayMs: () => 0,
    })
    exit()
  })
}

test('the first restart is immediate and later ones wait longer, up to a bound', () => {
  expect([1, 2, 3, 4, 7, 8, 50].map(restartDelayMs)).toEqual([0, 100, 200, 400, 3_200, 5_000, 5_000])
})

test('restarts end after a bounded number of attempts', async () => {
  const broken = aServer(() => {
    throw new Error('no space left')
  })

  const { said, error } = await untilGivenUp(broken)

  expect(said).toHaveLength(1 + MAX_RESTARTS)
  expect(said.at(-1)).toBe(
    `The database did not start (attempt ${MAX_RESTARTS} of ${MAX_RESTARTS}): no space left`,
  )
  expect(error).toMatchObject({ message: 'no space left' })
})

test('restarts also end when the server starts but dies again each time', async () => {
  let restarts = 0
  const frail = aServer((exit) => {
    restarts += 1
    queueMicrotask(exit) // Dead again before anyone could look.
  })

  const { error } = await untilGivenUp(frail)

  expect(restarts).toBe(MAX_RESTARTS)
  expect(error).toMatchObject({ message: 'The embedded database keeps stopping.' })
})
