import { expect, test } from 'vitest'
import { DEFAULT_PROJECT_ID } from '../../src/core/values/default-project.ts'
import { RemoteSecrets } from '../../src/remote/remote-secrets.ts'
import type { Work } from '../../src/transport/transport.ts'
import { createTestDatabase } from '../support/database.ts'
import { aVault } from '../support/vault.ts'

const work = (runId: string, secrets: readonly string[]) =>
  ({ runId, definition: { projectId: DEFAULT_PROJECT_ID, secrets } }) as Work

test('runs in one request of a worker that refer to the same secrets share a redactor', async () => {
  const { db } = await createTestDatabase()
  const vault = aVault(db)
  await vault.runOnce()

  const redactors = await new RemoteSecrets(vault).redactorsFor([
    work('first', ['TOKEN']),
    work('second', ['TOKEN']),
  ])

  expect(redactors.get('first')).toBeDefined()
  expect(redactors.get('second')).toBe(redactors.get('first'))
})
