import { expect, test } from 'vitest'
import { allows, type Grant, type GrantedAccess, neededRole, ROLES, sees } from './role.ts'

const OWN = '00000000-0000-7000-8000-000000000001'
const OTHER = '00000000-0000-7000-8000-000000000002'
const ACCESSES: readonly GrantedAccess[] = [
  'read',
  'operate',
  'edit',
  'administer',
  'inspect',
  'installation',
  'work',
]
const allowedTo = (grant: Grant, projectId: string) =>
  ACCESSES.filter((access) => allows(grant, projectId, access)).join(' ')

test('a role of a project counts in that project alone', () => {
  const inProject = ROLES.map((role) => {
    const grant = { installation: null, projects: new Map([[OWN, role]]) }
    return [role, allowedTo(grant, OWN), allowedTo(grant, OTHER), sees(grant, OWN), sees(grant, OTHER)]
  })

  expect(inProject).toEqual([
    ['viewer', 'read', '', true, false],
    ['operator', 'read operate', '', true, false],
    ['editor', 'read operate edit', '', true, false],
    ['admin', 'read operate edit administer work', '', true, false],
    ['worker', 'work', '', true, false],
  ])
})

test('a role of the installation counts in every project', () => {
  const inInstallation = ROLES.map((role) => {
    const grant = { installation: role, projects: new Map() }
    return [role, allowedTo(grant, OTHER)]
  })

  expect(inInstallation).toEqual([
    ['viewer', 'read inspect'],
    ['operator', 'read operate inspect'],
    ['editor', 'read operate edit inspect'],
    ['admin', 'read operate edit administer inspect installation work'],
    ['worker', 'work'],
  ])
})

test('a role in the installation and a role in a project are added together', () => {
  const grant: Grant = { installation: 'viewer', projects: new Map([[OWN, 'editor']]) }

  expect(allowedTo(grant, OWN)).toBe('read operate edit inspect')
  expect(allowedTo(grant, OTHER)).toBe('read inspect')
})

test('a refusal names the weakest role that allows the access', () => {
  expect(ACCESSES.map(neededRole)).toEqual([
    'viewer',
    'operator',
    'editor',
    'admin',
    'viewer of the installation',
    'admin of the installation',
    'worker',
  ])
})
