import { expect, test } from 'vitest'
import { groupsIn, identityOf, MAX_GROUPS } from './identity.ts'

const ISSUER = 'https://login.example.com/'
const of = (claims: Record<string, unknown>, claim = 'groups') =>
  identityOf({ sub: 'u1', ...claims }, ISSUER, claim)

test('a person has the subject, the verified address, the name and the groups of the claims', () => {
  expect(
    of({
      email: 'Ada@Example.com',
      email_verified: true,
      name: ' Ada\u202e Lovelace ',
      groups: ['dev', 'ops', 'dev'],
    }),
  ).toEqual({
    issuer: ISSUER,
    subject: 'u1',
    email: 'ada@example.com',
    name: 'Ada Lovelace',
    groups: ['dev', 'ops'],
  })
})

test.each([
  [{ email: 'ada@example.com' }],
  [{ email: 'ada@example.com', email_verified: false }],
  [{ email: 'ada@example.com', email_verified: 1 }],
  [{ email: ['ada@example.com'], email_verified: true }],
  [{ email: 'ada', email_verified: true }],
  [{ email: 'a b@example.com', email_verified: true }],
  [{ email: `${'a'.repeat(320)}@example.com`, email_verified: true }],
])('%j has no verified email address', (claims) => {
  expect(of(claims).email).toBeNull()
})

test('groups are found under the name of the claim, or along its path', () => {
  expect(groupsIn({ realm_access: { roles: ['a'] } }, 'realm_access.roles')).toEqual(['a'])
  expect(groupsIn({ 'https://example.com/groups': ['b'] }, 'https://example.com/groups')).toEqual(['b'])
  expect(groupsIn({ groups: 'one' }, 'groups')).toEqual(['one'])
})

test('invalid group names and groups over the limit are left out', () => {
  expect(groupsIn({ groups: [1, null, '', 'x\u0000y', 'z'.repeat(201), { a: 1 }, 'ok'] }, 'groups')).toEqual([
    'ok',
  ])
  expect(groupsIn({}, 'constructor.name')).toEqual([])
  expect(
    groupsIn({ groups: Array.from({ length: MAX_GROUPS + 1 }, (_, i) => `g${i}`) }, 'groups'),
  ).toHaveLength(MAX_GROUPS)
})
