import { expect, test } from 'vitest'
import type { OutgoingSettings } from '../store/projects/projects.ts'
import { silentLogger } from '../telemetry/logger.ts'
import { ProjectSettings } from './project-settings.ts'

/** Settings whose reads wait until the test says what they find. */
function settings() {
  const pending: { found: (rows: Partial<OutgoingSettings>[]) => void; failed: (error: Error) => void }[] = []
  const run = () => new Promise((found, failed) => pending.push({ found, failed }))
  return { pending, read: new ProjectSettings({ db: { run } as never, log: silentLogger() }) }
}
const settled = () => new Promise((resolve) => setImmediate(resolve))
const confined = { id: 'confined', allowedPrivate: [], mailServer: null }

test('a project is known once it was read, and needs no statement after that', async () => {
  const { pending, read } = settings()

  const first = [read.of('confined'), read.of('free')]
  pending[0]?.found([confined])
  await settled()
  pending[1]?.found([confined])

  expect(await Promise.all(first)).toEqual([{ key: '', networks: [] }, undefined])
  expect([read.of('confined'), read.of('free')]).toEqual([{ key: '', networks: [] }, undefined])
  expect(pending).toHaveLength(2)
})

test('a read that began before a project was created does not count, and calls share the next one', async () => {
  const { pending, read } = settings()
  const early = read.runOnce()

  const calls = Promise.all([read.of('confined'), read.of('confined'), read.of('free')])
  pending[0]?.found([])
  await early
  await settled()
  pending[1]?.found([confined])

  expect(await calls).toEqual([{ key: '', networks: [] }, { key: '', networks: [] }, undefined])
  expect(pending).toHaveLength(2)
})

test('while the settings cannot be read, a project that is not known makes no calls', async () => {
  const { pending, read } = settings()

  const call = read.of('confined')
  pending[0]?.failed(new Error('no database'))
  await expect(call).rejects.toThrow('could not be read')
  const later = read.of('confined')
  pending[1]?.found([confined])

  expect(await later).toEqual({ key: '', networks: [] })
})
