/** The package as others get it: packed from a clone that nobody has built. */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const SOURCES = [
  'bin',
  'migrations',
  'package.json',
  'package-lock.json',
  'scripts',
  'src',
  'tsconfig.json',
  'web',
]

function aPackage(): string {
  const base = mkdtempSync(join(tmpdir(), 'belfry-package-'))
  onTestFinished(() => rmSync(base, { recursive: true, force: true }))
  const clone = join(base, 'clone')
  for (const name of [...SOURCES, 'README.md', 'CHANGELOG.md', 'LICENSE', '.npmrc'])
    cpSync(join(ROOT, name), join(clone, name), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(clone, 'node_modules'))
  execFileSync('npm', ['pack', '--pack-destination', base], { cwd: clone, stdio: 'pipe' })
  execFileSync('sh', ['-c', `tar -xzf ${base}/belfry-*.tgz -C ${base}`])
  const installed = join(base, 'program', 'node_modules', 'belfry')
  mkdirSync(join(installed, '..'), { recursive: true })
  cpSync(join(base, 'package'), installed, { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(installed, 'node_modules'))
  return join(base, 'program')
}

test('a package built from a clean clone runs, and CommonJS and ES modules can import its worker', () => {
  const program = aPackage()
  const run = (...args: string[]) => execFileSync(process.execPath, args, { cwd: program, encoding: 'utf8' })
  const isClass = 'console.log(typeof Worker, typeof Worker.prototype.handle)'
  writeFileSync(
    join(program, 'tsconfig.json'),
    JSON.stringify({
      compilerOptions: {
        module: 'node16',
        strict: true,
        noEmit: true,
        skipLibCheck: false,
        types: ['node'],
        typeRoots: [join(ROOT, 'node_modules/@types')],
      },
      files: ['common.cts', 'module.mts'],
    }),
  )
  const source = "import { Worker } from 'belfry/worker'\nnew Worker().handle('greet', async () => 'hello')\n"
  for (const name of ['common.cts', 'module.mts']) writeFileSync(join(program, name), source)

  expect(run('node_modules/belfry/bin/belfry.cjs', 'version')).toMatch(/^\d+\.\d+\.\d+/)
  expect(run('-e', `const { Worker } = require('belfry/worker'); ${isClass}`)).toBe('function function\n')
  expect(run('--input-type=module', '-e', `import { Worker } from 'belfry/worker'; ${isClass}`)).toBe(
    'function function\n',
  )
  // Throws what tsc says when the types do not fit.
  run(join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', '.')
})
