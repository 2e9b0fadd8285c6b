/** A caller cannot find out which projects exist besides its own, not even from what the server does to answer. */
import { expect, test, vi } from 'vitest'
import { createTestDatabase } from '../support/database.ts'
import { createTestApp } from './test-app.ts'

const { db } = await createTestDatabase()
const { send, signIn } = await createTestApp({ db })

const admin = (await send('POST', '/v1/keys', { name: 'admin', role: 'admin' })).body.key
const bearer = (key: string) => ({ authorization: `Bearer ${key}` })
const make = (path: string, body: object) => send('POST', path, body, bearer(admin))
for (const name of ['own', 'second', 'foreign']) await make('/v1/projects', { name })
const aKey = async (project: string) =>
  bearer((await make('/v1/keys', { name: project, role: 'admin', project })).body.key)
const ofOwn = await aKey('own')
const ofForeign = await aKey('foreign')
const ask = (credential: Record<string, string>, project: string) =>
  send('GET', '/v1/tasks', undefined, { ...credential, 'belfry-project': project })

/** Sends a request in each of the projects; returns the answers, and the statements that contain a project's name. */
async function asking(credential: Record<string, string>, projects: readonly string[]) {
  const run = vi.spyOn(db, 'run')
  const answers = []
  for (const project of projects) answers.push(await ask(credential, project))
  const named = run.mock.calls.filter(([{ values }]) =>
    values.some((value) => projects.includes(String(value))),
  )
  run.mockRestore()
  return { answers, named }
}

test('no statement is sent for the name of a foreign or an unknown project', async () => {
  await ask(ofForeign, 'foreign')
  await ask(bearer(admin), 'foreign')

  const { answers, named } = await asking(ofOwn, ['foreign', 'unknown', 'own'])
  const ofAdmin = await asking(bearer(admin), ['second'])

  expect(answers.map(({ status }) => status)).toEqual([404, 404, 200])
  expect(answers[0]?.body).toMatchObject({ detail: 'Project foreign does not exist.' })
  expect(named).toEqual([])
  expect(ofAdmin.named).not.toEqual([])
})

test('the names of the projects that a person has roles in are read together', async () => {
  for (const project of ['own', 'second'])
    await send(
      'POST',
      '/v1/members',
      { email: 'ada@example.com', role: 'viewer' },
      {
        ...bearer(admin),
        'belfry-project': project,
      },
    )
  const ada = await signIn('ada@example.com')

  const { answers, named } = await asking(ada, ['own', 'second', 'foreign', 'unknown'])

  expect(answers.map(({ status }) => status)).toEqual([200, 200, 404, 404])
  expect(named).toEqual([])
})
