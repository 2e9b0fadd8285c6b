/** `npm run test:bytes`: half a gigabyte of definitions that come due together, on a node with a small heap and a probe. */

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
    join('test', 'bytes', 'large-definitions.scenario.ts'),
  ],
  { cwd: root, stdio: 'inherit' },
)
child.once('close', (code) => process.exit(code ?? 1))
