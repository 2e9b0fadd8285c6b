/** The lock under which a checkout is made ready: what test files need done once, they do one after the other. */
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

export async function withBootstrapLock(work: () => Promise<void>): Promise<void> {
  const { withLock } = await import(new URL('../../scripts/lock.mjs', import.meta.url).href)
  await withLock(join(ROOT, '.belfry', 'bootstrap.lock'), () => {}, work)
}

/** Brings dist up to date with the sources. */
export async function ensureBuilt(): Promise<void> {
  const { build, isBuilt } = await import(new URL('../../scripts/build.mjs', import.meta.url).href)
  if (isBuilt()) return
  await withBootstrapLock(async () => {
    if (!isBuilt()) await build()
  })
}
