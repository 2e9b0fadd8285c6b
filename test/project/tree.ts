/** The files of the project, without what is installed or built. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const LEFT_OUT = ['.git', '.belfry', 'coverage', 'dist', 'node_modules']

/** Paths from the root of the project, with forward slashes, in order. */
export const FILES: readonly string[] = filesBelow('').sort()

/** The program itself, without its tests and what only they use. */
export const SOURCES: readonly string[] = FILES.filter(
  (path) => /^src\/.*\.[jt]s$/.test(path) && !/(\.test|test-support)\.ts$/.test(path),
)

export const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')

function filesBelow(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    if (LEFT_OUT.includes(entry.name)) return []
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`
    return entry.isDirectory() ? filesBelow(path) : [path]
  })
}
