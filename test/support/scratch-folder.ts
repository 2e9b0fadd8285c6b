import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { whenDone } from './cleanup.ts'

/** An empty folder that is removed after the test, or, outside of one, after the file. */
export async function scratchFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'belfry-test-'))
  whenDone(() => rm(folder, { recursive: true, force: true }))
  return folder
}
