import { expect, test } from 'vitest'
import { ROLES, type Role } from '../runtime/config/choices.ts'
import { mostConnections, sharesOf } from './connections.ts'

const ofRoles = Array.from({ length: 2 ** ROLES.length - 1 }, (_, n): [readonly Role[]] => [
  ROLES.filter((_role, i) => ((n + 1) >> i) % 2 === 1),
])

test.each(ofRoles)('a node with the roles %s opens no more connections than it may', (roles) => {
  for (let databaseConnections = 20; databaseConnections <= 30; databaseConnections++) {
    const settings = { roles, databaseConnections }

    expect(mostConnections(settings, { isExternal: true })).toBeLessThanOrEqual(databaseConnections)
    expect(sharesOf(settings).engine).toBeGreaterThanOrEqual(3)
    expect(sharesOf(settings).callers > 0).toBe(roles.includes('api'))
  }
})

test('all connections that a node may open are shared out', () => {
  const open = (databaseConnections: number) =>
    mostConnections({ roles: ROLES, databaseConnections }, { isExternal: true })

  expect([20, 23, 30].map(open)).toEqual([20, 23, 30])
  expect(sharesOf({ roles: ROLES, databaseConnections: 20 })).toEqual({ requests: 4, engine: 3, callers: 1 })
})
