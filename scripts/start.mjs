/** `npm start`: makes the checkout ready, then becomes `belfry start`, in this same process. */

import { fileURLToPath } from 'node:url'
import { prepare } from './bootstrap.mjs'

await prepare({ build: true })

const main = new URL('../dist/main.js', import.meta.url)
process.argv = [process.execPath, fileURLToPath(main), 'start', ...process.argv.slice(2)]
await import(main.href)
