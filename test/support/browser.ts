/**
 * A real browser against a real server. One Chromium for each test file, a page of its own for each visit, and an
 * account of everything that went wrong in it: errors on the console, failed requests, requests to elsewhere.
 */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { expect, vi } from 'vitest'
import { withBootstrapLock } from './bootstrap-lock.ts'
import { canInstall, findBrowser, installBrowser, missingBrowser } from './chromium.ts'
import { whenDone } from './cleanup.ts'

/** Slow machines run several tests at once; waiting longer costs nothing when all is well. */
const WAIT_MS = 60_000
/** A visit of many steps, on a machine on which each of them takes seconds. */
const TEST_MS = 180_000
export const PHONE = { width: 390, height: 844 }
export const TABLET = { width: 768, height: 1024 }
export const SMALL_DESK = { width: 1024, height: 768 }
export const DESK = { width: 1280, height: 900 }

/** Installs a missing browser if that is allowed; several test files at once do so one after the other. */
async function ensureBrowser(): Promise<string> {
  const found = findBrowser(process.env)
  if (found !== undefined) return found
  let tried: string | null = null
  if (canInstall(process.env))
    await withBootstrapLock(async () => {
      if (findBrowser(process.env) === undefined) tried = installBrowser(process.env)
    })
  const installed = findBrowser(process.env)
  if (installed !== undefined) return installed
  throw missingBrowser(process.env, tried)
}

export interface Visit {
  readonly page: Page
  /** What went wrong so far, in the order in which it did. */
  readonly troubles: readonly string[]
}

export interface VisitOptions extends BrowserContextOptions {
  /** Errors that the test causes on purpose. */
  readonly expected?: RegExp
  /** Called with the page before it loads anything. */
  readonly before?: (page: Page) => unknown
}

/** A browser, and how to visit a page with it. */
export interface TestBrowser {
  readonly browser: Browser
  readonly visit: (url: string, options?: VisitOptions) => Promise<Visit>
}

export async function startBrowser(): Promise<TestBrowser> {
  vi.setConfig({ testTimeout: TEST_MS })
  const browser: Browser = await chromium.launch({
    executablePath: await ensureBrowser(),
    // Chromium's own sandbox refuses to start as root; only pages of our own server are opened.
    args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
  })
  whenDone(() => browser.close())

  const newContext = async (options: BrowserContextOptions) => {
    const context = await browser.newContext({
      viewport: DESK,
      locale: 'en-GB',
      timezoneId: 'Europe/Berlin',
      reducedMotion: 'reduce',
      ...options,
    })
    context.setDefaultTimeout(WAIT_MS)
    return context
  }
  const shared = await newContext({})
  // A new page costs a process, so a page that a test has left is cleared and used again.
  const idle: Page[] = []
  const leave = async (page: Page) => {
    page.removeAllListeners()
    // Resets scroll positions, the mouse and everything else that a new page would not have.
    await page.evaluate('sessionStorage.clear()')
    await page.goto('about:blank')
    await page.mouse.move(0, 0)
    await page.setViewportSize(DESK)
    await page.emulateMedia({ colorScheme: null, reducedMotion: 'reduce' })
    idle.push(page)
  }

  /**
   * Opens a page at an address of the server; the visit must end without errors. Pages without special options share what the
   * browser has fetched and compiled, like the tabs of one user; the others begin with an empty context.
   */
  async function visit(url: string, { expected, before, ...options }: VisitOptions = {}): Promise<Visit> {
    const isOwn = before !== undefined || Object.keys(options).length > 0
    const context = isOwn ? await newContext(options) : shared
    const page = (isOwn ? undefined : idle.pop()) ?? (await context.newPage())
    // Behind another page it would neither scroll nor draw.
    await page.bringToFront()
    const troubles = listen(page, new URL(url).origin, expected)
    whenDone(async () => {
      await (isOwn ? context.close() : leave(page))
      expect(troubles).toEqual([])
    })
    await before?.(page)
    await page.goto(url)
    return { page, troubles }
  }
  return { browser, visit }
}

function listen(page: Page, origin: string, expected: RegExp | undefined): string[] {
  const troubles: string[] = []
  const note = (text: string) => {
    if (!expected?.test(text)) troubles.push(text)
  }
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') note(`console: ${message.text()}`)
  })
  page.on('pageerror', (error) => note(`page: ${error.message}`))
  page.on('request', (request) => {
    if (new URL(request.url()).origin !== origin) note(`asks elsewhere: ${request.url()}`)
  })
  page.on('response', (response) => {
    if (response.status() >= 400)
      note(`${response.status()} ${response.request().method()} ${response.url()}`)
  })
  return troubles
}

const AXE_SOURCE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const EVERYTHING = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
const COLOURS = ['color-contrast', 'link-in-text-block']
/** Rules that another width can break: an element that is hidden or moved then loses its name, its size or the way to reach it. */
const LAYOUT = [
  'aria-hidden-focus',
  'aria-required-children',
  'aria-required-parent',
  'button-name',
  'empty-table-header',
  'heading-order',
  'label',
  'link-name',
  'meta-viewport',
  'region',
  'scrollable-region-focusable',
  'target-size',
]

/** What to look for: everything; or what other colours and another width can change about the same page. */
export type Concern = 'everything' | 'looks'

const OPTIONS: Readonly<Record<Concern, object>> = {
  everything: { runOnly: { type: 'tag', values: EVERYTHING } },
  looks: { runOnly: { type: 'rule', values: [...COLOURS, ...LAYOUT] } },
}

/** An overlay is checked by itself, and the page is checked without it. */
const OVER = '[role=dialog]'

interface Axe {
  run(within: unknown, options: unknown): Promise<unknown>
}

interface AxeResults {
  readonly violations: readonly {
    readonly id: string
    readonly help: string
    readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[]
  }[]
}

/** Returns what prevents people who do not see, point or distinguish colors from using a page; it should be empty. */
export async function violationsOf(page: Page, concern: Concern = 'everything'): Promise<string[]> {
  const isCovered = await page.locator('[role=dialog]').isVisible()
  // The policy of the page forbids to add scripts; what the debugger evaluates is not subject to it.
  if (!(await page.evaluate('"axe" in globalThis'))) await page.evaluate(AXE_SOURCE)
  const { violations } = (await page.evaluate(
    ({ within, options }) => (globalThis as unknown as { axe: Axe }).axe.run(within ?? 'html', options),
    {
      within: isCovered ? OVER : null,
      // What is in order is not described, and style sheets need not be fetched: both cost more than the rules.
      options: { ...OPTIONS[concern], resultTypes: ['violations'], preload: false },
    },
  )) as AxeResults
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${help}\n${html}\n${failureSummary}`),
  )
}
