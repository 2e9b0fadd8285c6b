/** People who have signed in through the OpenID Connect provider. */
import { z } from 'zod'
import { utc } from '../../../core/values/utc.ts'
import { findPeople, signOutPerson } from '../../../operations/people/people.ts'
import type { SessionBook } from '../../../operations/sessions/session-book.ts'
import { Uuid } from '../../../operations/validation/values.ts'
import type { PersonRow } from '../../../store/access/people.ts'
import type { App } from '../../app.ts'
import { decodeCursor, pageOf } from '../../http/cursor.ts'
import { isTaskPosition as isIdPosition } from '../../http/next-link.ts'
import { problems } from '../../http/schemas/problem-document.ts'
import { SignedOut } from '../sign-in/schemas.ts'
import { ListPeople, type Person, PersonPage } from './schemas.ts'

const tags = ['members']

const list = {
  operationId: 'listPeople',
  tags,
  summary: 'List people who have signed in with a company account',
  querystring: ListPeople,
  response: { 200: PersonPage, ...problems() },
}

const signOut = {
  operationId: 'signOutPerson',
  tags,
  summary: 'End all sessions of a person',
  description:
    'The sessions end on all nodes within two seconds. The person can sign in again for as long as the identity provider allows it.',
  params: z.object({ id: Uuid }),
  response: { 200: SignedOut, ...problems(404) },
}

const config = { access: 'installation' } as const

export function peopleRoutes(app: App, sessions: SessionBook): void {
  app.get('/v1/people', { schema: list, config }, async ({ query, context }) => {
    const { limit, cursor } = query
    const [after = null] = decodeCursor(cursor, isIdPosition) ?? []
    const rows = await findPeople(context, { after, limit: limit + 1 })
    return pageOf(rows, { limit, present, position: ({ id }) => [id] })
  })

  app.post('/v1/people/:id/sign-out', { schema: signOut, config }, async ({ params, context }) => ({
    sessions: await signOutPerson(context, sessions, params.id),
  }))
}

function present({ issuer: _, groups, createdAt, signedInAt, ...person }: PersonRow): Person {
  return { ...person, groups: [...groups], createdAt: utc(createdAt), signedInAt: utc(signedInAt) }
}
