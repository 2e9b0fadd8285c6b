/**
 * The browser that the dashboard is tested with: the one that BELFRY_TEST_BROWSER names, else the first that is
 * installed, else Debian's, which is installed where that can be done. Where it cannot, the error says what to do.
 */
import { spawnSync } from 'node:child_process'
import { accessSync, constants, existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

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
const APT = '/usr/bin/apt-get'
/** A slow mirror may take minutes; one that does not answer must not hold up the tests for ever. */
const INSTALL_MS = 300_000
/** Of what the installer said, so much is passed on. */
const TOLD_LINES = 3

type Environment = Readonly<Record<string, string | undefined>>

export function findBrowser(env: Environment): string | undefined {
  const chosen = env['BELFRY_TEST_BROWSER']
  if (chosen !== undefined) return existsSync(chosen) ? chosen : undefined
  const onPath = (env['PATH'] ?? '')
    .split(delimiter)
    .flatMap((folder) => NAMES.map((name) => join(folder, name)))
  return [...onPath, ...ELSEWHERE].find(isProgram)
}

/** Whether a browser that is missing may be installed: nobody has named one, and we are who may. */
export function canInstall(env: Environment): boolean {
  return env['BELFRY_TEST_BROWSER'] === undefined && process.getuid?.() === 0 && isProgram(APT)
}

/** Installs Debian's Chromium, without windows where that is to be had; what went wrong, if anything did. */
export function installBrowser(env: Environment): string | null {
  const run = (...args: string[]) => {
    const { status, stderr, error } = spawnSync(APT, args, {
      stdio: ['ignore', 'ignore', 'pipe'],
      encoding: 'utf8',
      timeout: INSTALL_MS,
      env: { ...env, DEBIAN_FRONTEND: 'noninteractive' },
    })
    if (status === 0) return null
    const said = (error?.message ?? stderr).trim().split('\n').slice(-TOLD_LINES).join(' ')
    return `apt-get ${args.join(' ')} failed: ${said}`
  }
  // Lists that cannot be renewed may still be good enough.
  const stale = run('update')
  const install = (name: string) => run('install', '-y', '--no-install-recommends', name)
  // Older releases have only the whole browser.
  const failed = install('chromium-headless-shell') && install('chromium')
  return failed === null ? null : [failed, ...(stale === null ? [] : [stale])].join(' ')
}

/** What to do where there is none. */
export function missingBrowser(env: Environment, tried: string | null): Error {
  const chosen = env['BELFRY_TEST_BROWSER']
  if (chosen !== undefined) return new Error(`BELFRY_TEST_BROWSER is ${chosen}, and there is no such file.`)
  return new Error(
    'The tests of the dashboard need a Chromium or Chrome, and there is none. ' +
      'On Debian and Ubuntu: apt-get install chromium. On Fedora: dnf install chromium. On macOS: brew install --cask chromium. ' +
      `One that lies elsewhere is named by BELFRY_TEST_BROWSER.${tried === null ? '' : ` ${tried}`}`,
  )
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
