/** What people do with the dashboard, in one browser. Parts that cannot be in each other's way share a server. */
import { startBrowser } from '../support/browser.ts'
import { acts } from './parts/acts.ts'
import { letters } from './parts/letters.ts'
import { lists } from './parts/lists.ts'
import { live } from './parts/live.ts'
import { paths } from './parts/paths.ts'
import { startServer } from './parts/server.ts'
import { settings } from './parts/settings.ts'
import { why } from './parts/why.ts'

const browser = await startBrowser()
const server = await startServer()

paths(browser, server)
why(browser, server)
acts(browser, server)
await lists(browser)
await live(browser)
const another = await startServer()
letters(browser, another)
settings(browser, another)
