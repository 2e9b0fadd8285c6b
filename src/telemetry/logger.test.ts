import { closeSync, mkdtempSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, onTestFinished, test } from 'vitest'
import { createLogger } from './logger.ts'

const EVIL = 'worker\r\n[12:00:00.000] FATAL: forged\u001b[2J\u009b31m\u202e'
const SHOWN = 'worker\\u000d\\u000a[12:00:00.000] FATAL: forged\\u001b[2J\\u009b31m\\u202e'

/** What a logger for people writes. */
async function prettyLogger() {
  const path = join(mkdtempSync(join(inject('scratch'), 'log-')), 'log')
  const destination = openSync(path, 'w')
  onTestFinished(() => closeSync(destination))
  const log = await createLogger({ level: 'info', pretty: true, destination })
  const written = () => readFileSync(path, 'utf8')
  return { log, written: () => expect.poll(written, { timeout: 20_000 }) }
}

test('text from outside cannot start a log line or move the cursor', async () => {
  const { log, written } = await prettyLogger()

  log.warn({ name: EVIL, [EVIL]: 1 }, `the ${EVIL} has left`)

  await written().toContain(`the ${SHOWN} has left`)
  await written().toMatch(/^[^\n]*\n$/)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there.
  await written().not.toMatch(/\r|\u001b\[2J|\u009b|\u202e/)
})

test('a stack keeps its lines, all of them indented', async () => {
  const { log, written } = await prettyLogger()

  log.error({ err: new Error(EVIL) }, 'failed')

  await written().toMatch(/\n +at /)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there.
  await written().not.toMatch(/\r|\u001b\[2J|\u009b|\u202e|^\[12:00:00/m)
})
