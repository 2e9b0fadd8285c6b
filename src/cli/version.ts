import { readFileSync } from 'node:fs'

/** Put in by the build: the beginning of the hash of everything it was built from. */
declare const BUILD_ID: string | undefined

const release: string = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version

/** The version of this release, as its package says, with the build: `0.2.0+3f2a9c1b`. */
export const VERSION: string = typeof BUILD_ID === 'string' ? `${release}+${BUILD_ID}` : release
