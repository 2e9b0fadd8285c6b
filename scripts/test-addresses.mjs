/** `npm run test:addresses`: every way to an address that no call may reach, in network namespaces full of canaries. */

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
    join('test', 'calls', 'forbidden-addresses.scenario.ts'),
  ],
  { cwd: root, stdio: 'inherit' },
)
child.once('close', (code) => process.exit(code ?? 1))
