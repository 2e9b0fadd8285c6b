/**
 * Pictures of screens for somebody to look at: in light and dark, as wide as a desk, a small desk, a tablet and a phone.
 * It judges nothing but what can be counted: no error on the console, nothing wider than the screen.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { PHONE, SMALL_DESK, TABLET, type TestBrowser } from '../support/browser.ts'

const FOLDER = process.env['BELFRY_SCREENSHOTS'] ?? ''
/** Only screens with this in their name. */
const ONLY = process.env['BELFRY_SCREENSHOT_ONLY'] ?? ''
const WIDE_DESK = { width: 1440, height: 900 }
/** What is longer is cut: nobody looks at the end of a list of thousands. */
const MAX_HEIGHT = 4_000

export interface Screen {
  readonly name: string
  readonly path: string
  readonly ready: (page: Page) => Promise<unknown>
}

export const heading = (name: string | RegExp) => (page: Page) =>
  page.getByRole('heading', { name }).first().waitFor()
export const text = (words: string) => (page: Page) => page.getByText(words).first().waitFor()

/** Goes to each screen in each look and keeps a picture of the whole of it. `begin` is done once on each page. */
export const picturesOf =
  (visit: TestBrowser['visit'], url: string, begin: (page: Page) => Promise<unknown> = async () => {}) =>
  async (count: string, screens: readonly Screen[]): Promise<void> => {
    mkdirSync(FOLDER, { recursive: true })
    const wanted = screens.filter(({ name }) => name.includes(ONLY))
    for (const colorScheme of ['light', 'dark'] as const)
      for (const viewport of [WIDE_DESK, SMALL_DESK, TABLET, PHONE]) {
        if (wanted.length === 0) continue
        const { page } = await visit(url, { colorScheme, viewport, expected: /401|ERR_ABORTED/ })
        await begin(page)
        for (const { name, path, ready } of wanted) {
          await page.setViewportSize(viewport)
          await page.goto(url + path)
          await ready(page)
          await page.getByText('live', { exact: true }).waitFor()
          const width = await page.evaluate('document.documentElement.scrollWidth')
          expect(width, `${name} at ${viewport.width}`).toBeLessThanOrEqual(viewport.width)
          // As high as it is: what stays at the foot of the screen would lie across a longer picture.
          const height = Number(await page.evaluate('document.documentElement.scrollHeight'))
          await page.setViewportSize({
            ...viewport,
            height: Math.min(Math.max(viewport.height, height), MAX_HEIGHT),
          })
          await page.screenshot({
            path: join(FOLDER, `${count}-${name}-${colorScheme}-${viewport.width}.png`),
          })
        }
        await page.close()
      }
  }
