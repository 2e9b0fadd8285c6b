/** A server that several parts share. */
import type { Database } from '../../../src/store/database/database.ts'
import { createTestDatabase } from '../../support/database.ts'
import { startTestNode, type TestNode } from '../../support/node.ts'

export interface TestServer {
  readonly node: TestNode
  readonly db: Database
}

export async function startServer(): Promise<TestServer> {
  const database = await createTestDatabase()
  return { node: await startTestNode(database), db: database.db }
}
