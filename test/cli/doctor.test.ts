import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createTestDatabase } from '../support/database.ts'
import { aDirectory, runBelfry, startBelfry } from '../support/process.ts'

interface Finding {
  readonly check: string
  readonly status: string
  readonly text: string
}

async function examine(
  args: readonly string[],
): Promise<{ code: number | null; found: Map<string, Finding> }> {
  const { code, stdout } = await runBelfry(['doctor', '--json', '--port', '0', ...args])
  const findings: Finding[] = JSON.parse(stdout)
  return { code, found: new Map(findings.map((finding) => [finding.check, finding])) }
}

test('a machine that is ready passes every check, as text and as JSON', async () => {
  const dataDir = join(aDirectory(), 'data')
  const plain = await runBelfry(['doctor', '--port', '0', '--data-dir', dataDir])
  const { code, found } = await examine(['--data-dir', dataDir])

  expect(plain.code).toBe(0)
  expect(plain.stdout).toMatch(/✓ postgres {5}embedded PostgreSQL \d+\.\d+/)
  expect(code).toBe(0)
  expect([...found.values()].filter(({ status }) => status === 'problem')).toEqual([])
  expect(found.get('data')?.text).toBe(`${dataDir} (created on first start)`)
  expect(found.get('node')?.text).toBe(process.versions.node)
})

test('a running Belfry is reported with its address and the process that uses the port', async () => {
  const dataDir = join(aDirectory(), 'data')
  const belfry = await startBelfry(['--data-dir', dataDir])

  const { code, found } = await examine(['--data-dir', dataDir, '--port', new URL(belfry.url).port])

  expect(code).toBe(0)
  expect(found.get('running')).toMatchObject({ status: 'note', text: `pid ${belfry.pid} at ${belfry.url}` })
  expect(found.get('port')?.text).toContain(`is in use by node (pid ${belfry.pid})`)
  expect(found.get('disk')?.text).toMatch(/GiB free/)
})

test('a file at the path of the data directory is a problem', async () => {
  const dataDir = join(aDirectory(), 'file')
  writeFileSync(dataDir, '')

  const { code, found } = await examine(['--data-dir', dataDir])

  expect(code).toBe(1)
  expect(found.get('data')).toMatchObject({
    status: 'problem',
    text: `Cannot write ${dataDir}: a file is in the way of the directory. Use --data-dir DIR.`,
  })
})

test('the connection, clock and durability of an external database are checked', async () => {
  const { url } = await createTestDatabase({ empty: true })

  const { code, found } = await examine(['--database-url', url])

  expect(code).toBe(0)
  expect(found.get('database')).toMatchObject({
    status: 'ok',
    text: expect.stringMatching(/^PostgreSQL \d+/),
  })
  expect(found.get('durability')).toMatchObject({ status: 'ok' })
  expect(found.get('clock')).toMatchObject({ status: 'ok' })
})

test('an unreachable database is a problem, reported without its password', async () => {
  const { code, found } = await examine(['--database-url', 'postgresql://belfry:hunter2@127.0.0.1:1/belfry'])

  expect(code).toBe(1)
  expect(found.get('database')?.status).toBe('problem')
  expect(found.get('database')?.text).toContain('Cannot connect to 127.0.0.1:1/belfry')
  expect(found.get('database')?.text).not.toContain('hunter2')
})
