/**
 * The code for other products in the guides: it parses, and where the benchmarks have installed a product, its types fit.
 * It is not executed, because these products need servers of their own.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { transform } from 'esbuild'
import { expect, test } from 'vitest'
import { FILES, ROOT, read } from '../project/tree.ts'
import { aDirectory } from '../support/process.ts'
import { type Block, blocksOf } from './page.ts'

const PEERS = join(ROOT, 'bench', 'node_modules')
const blocks = FILES.filter((path) => /^docs\/guides\/.+\.md$/.test(path)).flatMap((path) =>
  blocksOf(read(path))
    .filter(({ kind }) => kind === 'peer')
    .map((block) => ({ path, ...block })),
)

test('example code for other products parses', async () => {
  expect(blocks.length).toBeGreaterThan(0)
  for (const { path, line, text, language } of blocks)
    await expect(
      transform(text, { loader: language as 'js' | 'ts' }),
      `${path}, line ${line}`,
    ).resolves.toBeDefined()
})

const isInstalled = ({ name }: Block) =>
  ['bullmq', 'pg-boss'].includes(name ?? '') && existsSync(join(PEERS, name ?? ''))

test.skipIf(!blocks.some(isInstalled))('example code for installed products passes type checking', () => {
  const folder = aDirectory()
  symlinkSync(PEERS, join(folder, 'node_modules'))
  for (const { path, line, text, language } of blocks.filter(isInstalled))
    writeFileSync(join(folder, `${path.replace(/\W/g, '-')}-${line}.m${language}`), text)
  const compilerOptions = {
    target: 'es2023',
    module: 'nodenext',
    allowJs: true,
    checkJs: true,
    noEmit: true,
    skipLibCheck: true,
    noImplicitAny: false,
    types: ['node'],
    typeRoots: [join(ROOT, 'node_modules', '@types')],
  }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*'] }))

  // Throws what the compiler says when a type does not fit.
  execFileSync(join(ROOT, 'node_modules', '.bin', 'tsc'), ['-p', folder], { encoding: 'utf8' })
})
