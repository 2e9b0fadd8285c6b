/**
 * What `npm test` leaves out of the dashboard, in one browser: panels and their drafts, settings, and the screens of targets, queues,
 * files and dead letters. Each of them is opened by `screens.test.ts` as well.
 */
import { describe } from 'vitest'
import { startBrowser } from '../../support/browser.ts'
import { files } from '../parts/files.ts'
import { forms } from '../parts/forms.ts'
import { letters } from '../parts/letters.ts'
import { queues } from '../parts/queues.ts'
import { startServer } from '../parts/server.ts'
import { settings } from '../parts/settings.ts'
import { targets } from '../parts/targets.ts'

const browser = await startBrowser()

describe('dead letters, settings, targets, queues, files and forms', async () => {
  const server = await startServer()
  letters(browser, server)
  settings(browser, server)
  targets(browser, server)
  queues(browser, server)
  files(browser, server)
  forms(browser, server)
})
