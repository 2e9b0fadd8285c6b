/**
 * What people do with the dashboard every day, in one browser; `details/` has the rest. Parts that cannot be in each other's
 * way share a server, which is stopped after them: what nobody looks at any more need not work beside the others.
 */
import { describe } from 'vitest'
import { startBrowser } from '../support/browser.ts'
import { acts } from './parts/acts.ts'
import { foreignPages } from './parts/foreign-pages.ts'
import { lists } from './parts/lists.ts'
import { live } from './parts/live.ts'
import { paths } from './parts/paths.ts'
import { startServer } from './parts/server.ts'
import { why } from './parts/why.ts'

const browser = await startBrowser()

describe('a task', async () => {
  const server = await startServer()
  paths(browser, server)
  why(browser, server)
  acts(browser, server)
})

describe('all tasks', async () => {
  const server = await startServer()
  await lists(browser, server)
  foreignPages(browser, server)
})

describe('live changes', () => live(browser))
