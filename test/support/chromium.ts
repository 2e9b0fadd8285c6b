/**
 * The browser that the dashboard is tested with: the one that BELFRY_TEST_BROWSER names, else the first that is
 * installed, else Debian's, which is installed where that can be done. Where it cannot, the error says what to do.
 */
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { canInstallPackages, type Environment, installPackage, isProgram } from './apt.ts'

/** The one without windows first: it needs an eighth less CPU time for the same tests, and less room. */
const NAMES = [
  'chromium-headless-shell',
  'chromium',
  'chromium-browser',
  'google-chrome',
  'google-chrome-stable',
]
const ELSEWHERE = [
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
]

export function findBrowser(env: Environment): string | undefined {
  const chosen = env['BELFRY_TEST_BROWSER']
  if (chosen !== undefined) return existsSync(chosen) ? chosen : undefined
  const onPath = (env['PATH'] ?? '')
    .split(delimiter)
    .flatMap((folder) => NAMES.map((name) => join(folder, name)))
  return [...onPath, ...ELSEWHERE].find(isProgram)
}

/** Whether a missing browser may be installed: no browser was named, and this process can install packages. */
export function canInstall(env: Environment): boolean {
  return env['BELFRY_TEST_BROWSER'] === undefined && canInstallPackages()
}

/** Installs Debian's Chromium, the headless shell if available; returns what went wrong, or null. */
export const installBrowser = (env: Environment): string | null =>
  // Older releases have only the whole browser.
  installPackage(env, ['chromium-headless-shell', 'chromium'])

/** Returns an error that says what to do about a missing browser. */
export function missingBrowser(env: Environment, tried: string | null): Error {
  const chosen = env['BELFRY_TEST_BROWSER']
  if (chosen !== undefined) return new Error(`BELFRY_TEST_BROWSER is ${chosen}, and there is no such file.`)
  return new Error(
    'The tests of the dashboard need a Chromium or Chrome, and there is none. ' +
      'On Debian and Ubuntu: apt-get install chromium. On Fedora: dnf install chromium. On macOS: brew install --cask chromium. ' +
      `One that lies elsewhere is named by BELFRY_TEST_BROWSER.${tried === null ? '' : ` ${tried}`}`,
  )
}
