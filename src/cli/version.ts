import { readFileSync } from 'node:fs'

/** Set by the build: the first characters of the hash of all its inputs. */
declare const BUILD_ID: string | undefined

const release: string = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version

/** Version from package.json, with the build id: `0.2.0+3f2a9c1b`. */
export const VERSION: string = typeof BUILD_ID === 'string' ? `${release}+${BUILD_ID}` : release
