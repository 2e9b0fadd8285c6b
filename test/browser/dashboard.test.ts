/**
 * What people do with the dashboard, in one browser. Parts that cannot be in each other's way share a server, which is
 * stopped after them: what nobody looks at any more need not work beside the others.
 */
import { describe } from 'vitest'
import { startBrowser } from '../support/browser.ts'
import { acts } from './parts/acts.ts'
import { files } from './parts/files.ts'
import { foreignPages } from './parts/foreign-pages.ts'
import { forms } from './parts/forms.ts'
import { letters } from './parts/letters.ts'
import { lists } from './parts/lists.ts'
import { live } from './parts/live.ts'
import { paths } from './parts/paths.ts'
import { queues } from './parts/queues.ts'
import { startServer } from './parts/server.ts'
import { settings } from './parts/settings.ts'
import { targets } from './parts/targets.ts'
import { why } from './parts/why.ts'

const browser = await startBrowser()

describe('a task', async () => {
  const server = await startServer()
  paths(browser, server)
  why(browser, server)
  acts(browser, server)
})

describe('all tasks and the settings', async () => {
  const server = await startServer()
  await lists(browser, server)
  letters(browser, server)
  settings(browser, server)
  targets(browser, server)
  queues(browser, server)
  files(browser, server)
  forms(browser, server)
  foreignPages(browser, server)
})

describe('live changes', () => live(browser))
