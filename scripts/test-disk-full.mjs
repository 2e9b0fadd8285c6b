/** `npm run test:disk-full`: the disk of the database fills up and is freed again, on a file system of its own. */

import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { prepare } from './bootstrap.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
await prepare({ build: true })
const child = spawn(
  process.execPath,
  [
    join(root, 'node_modules', 'vitest', 'vitest.mjs'),
    'run',
    '--config',
    'vitest.scenarios.config.ts',
    join('test', 'storage', 'disk-full.scenario.ts'),
  ],
  { cwd: root, stdio: 'inherit' },
)
child.once('close', (code) => process.exit(code ?? 1))
