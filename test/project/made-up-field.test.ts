/**
 * A field is declared once: a program that differs from this one in the declaration of two more fields alone, and that knows
 * them nowhere else, takes, checks, stores, replaces, edits, compares and offers them like all others.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Command } from 'commander'
import { build } from 'esbuild'
import { afterAll, expect, test } from 'vitest'
import { sql } from '../../src/store/database/sql.ts'
import { createTestDatabase } from '../support/database.ts'
import { ROOT, read } from './tree.ts'

/** All but those that keep the schemas. */
const PACKAGES = Object.keys(JSON.parse(read('package-lock.json')).packages)
  .map((path) => path.replace('node_modules/', ''))
  .filter(
    (name) =>
      name !== '' && !name.includes('node_modules/') && !['zod', 'fastify-type-provider-zod'].includes(name),
  )

/** Beside the packages, so that the bundle finds them. */
const folder = await mkdtemp(join(ROOT, 'node_modules', '.made-up-field-'))
afterAll(() => rm(folder, { recursive: true }))

const bundle = join(folder, 'program.mjs')
await build({
  entryPoints: [join(ROOT, 'test/project/made-up-field/program.ts')],
  outfile: bundle,
  bundle: true,
  external: PACKAGES,
  platform: 'node',
  format: 'esm',
  logLevel: 'error',
})

/** Schemas are registered by id for all of the process, which other files share: the bundle gets a registry of its own. */
const shared = globalThis as { __zod_globalRegistry?: unknown }
const theirs = shared.__zod_globalRegistry
delete shared.__zod_globalRegistry
const program: typeof import('./made-up-field/program.ts') = await import(pathToFileURL(bundle).href)
shared.__zod_globalRegistry = theirs

const database = await createTestDatabase()
const { send } = await program.createTestApp(database)
const action = { type: 'sleep', duration: '1s' }
const schedule = { type: 'manual' }
const usual = { colour: 'green', budget: { calls: 5, per: '1m' } }

test('the API validates and describes the new field', async () => {
  const wrong = await send('POST', '/v1/tasks', { action, colour: 'rad', budget: { calls: 11 } })
  const { body: document } = await send('GET', '/openapi.json')

  expect(wrong.body.errors).toEqual([
    { pointer: '/colour', detail: expect.stringContaining('must be one of green, red') },
    { pointer: '/budget/calls', detail: 'must be at most 10' },
  ])
  expect(document.components.schemas.CreateTaskInput.properties.colour).toEqual({
    type: 'string',
    enum: ['green', 'red'],
    description: 'The colour of the task. Default: green.',
  })
})

test('the new field is stored only where it differs from its default', async () => {
  const plain = await send('POST', '/v1/tasks', { action, schedule })
  const red = await send('POST', '/v1/tasks', { action, schedule, colour: 'red', budget: { calls: 2 } })
  const stored = await database.db.run(
    sql<{
      definition: object
    }>`select definition from task where id = any(${[plain.body.id, red.body.id]}) order by id`,
  )

  expect(plain.body).toMatchObject(usual)
  expect((await send('GET', `/v1/tasks/${plain.body.id}`)).body).toMatchObject(usual)
  expect(red.body).toMatchObject({ colour: 'red', budget: { calls: 2, per: '1m' } })
  expect((await send('GET', `/v1/tasks/${red.body.id}`)).body).toEqual(red.body)
  expect(stored[0]?.definition).not.toHaveProperty('colour')
  expect(stored[1]?.definition).toMatchObject({ colour: 'red', budget: { calls: 2, per: '1m' } })
})

test('PUT replaces the new field, PATCH edits it, and versions list its changes', async () => {
  const { body: task } = await send('PUT', '/v1/tasks/by-key/mine', { action, schedule, colour: 'red' })
  const replaced = await send('PUT', '/v1/tasks/by-key/mine', { action, schedule })
  const edited = await send('PATCH', `/v1/tasks/${task.id}`, { budget: { per: '5m' } })
  const { body: versions } = await send('GET', `/v1/tasks/${task.id}/versions`)

  expect(task.colour).toBe('red')
  expect(replaced.body).toMatchObject(usual)
  expect(edited.body).toMatchObject({ colour: 'green', budget: { calls: 5, per: '5m' } })
  expect(versions.items.map(({ changes }: { changes: object[] }) => changes)).toEqual([
    [{ field: 'budget.per', before: '1m', after: '5m', isCut: false }],
    [{ field: 'colour', before: 'red', after: 'green', isCut: false }],
    [],
  ])
})

test('the command line has flags for the new field', async () => {
  const command = program.addTaskFlags(new Command().exitOverride())

  command.parse(['--colour', 'red', '--budget-calls', '3'], { from: 'user' })

  expect(await program.readTaskFlags(command.opts())).toEqual({ colour: 'red', budget: { calls: 3 } })
  expect(command.helpInformation()).toContain('The colour of the task: green, red')
})

test('the form edits the new field, reads it from JSON, and shows its flag in the command', async () => {
  const { body: task } = await send('POST', '/v1/tasks', { action, schedule, colour: 'red' })
  const draft = program.draftOf(task)
  const changed = { ...draft, colour: 'green', budgetCalls: '7' }
  const read = program.draftOfJson('{"budget":{"calls":9}}', draft)

  expect(program.emptyDraft()).toMatchObject({ colour: 'green', budgetCalls: '5', budgetPer: '1m' })
  expect(draft).toMatchObject({ colour: 'red', budgetCalls: '5', budgetPer: '1m' })
  expect(program.fullInput(draft)).toMatchObject({ colour: 'red', budget: { calls: 5, per: '1m' } })
  expect(program.changesOf(draft, changed)).toEqual({ colour: 'green', budget: { calls: 7, per: '1m' } })
  expect(read).toMatchObject({ ok: true, draft: { budgetCalls: '9', budgetPer: '1m', raw: {} } })
  const said = program.createParts({ action: task.action, colour: 'red' } as never, { server: '' })
  expect(said).toContainEqual(['--colour', 'red'])
})
