/** How the browser for the tests is found, installed, or asked for. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { canInstall, findBrowser, installBrowser, missingBrowser } from '../support/chromium.ts'
import { aDirectory } from '../support/process.ts'

test('a browser is found in PATH or at BELFRY_TEST_BROWSER', () => {
  const folder = aDirectory()
  const program = join(folder, 'chromium')
  writeFileSync(program, '', { mode: 0o755 })

  expect(findBrowser({ PATH: `/nowhere:${folder}` })).toBe(program)
  expect(findBrowser({ PATH: '/nowhere', BELFRY_TEST_BROWSER: program })).toBe(program)
  expect(findBrowser({ PATH: folder, BELFRY_TEST_BROWSER: '/nowhere/chrome' })).toBeUndefined()
})

test('without a browser, the error names what to install and what was tried', () => {
  const env = { PATH: '/nowhere' }

  expect(missingBrowser(env, null).message).toMatch(
    /On Debian and Ubuntu: apt-get install chromium\. On Fedora: /,
  )
  expect(missingBrowser(env, 'apt-get failed.').message).toMatch(
    /named by BELFRY_TEST_BROWSER\. apt-get failed\.$/,
  )
  expect(missingBrowser({ BELFRY_TEST_BROWSER: '/x' }, null).message).toBe(
    'BELFRY_TEST_BROWSER is /x, and there is no such file.',
  )
  expect(canInstall({ BELFRY_TEST_BROWSER: '/x' })).toBe(false)
})

/** apt-get with places of its own: it knows no package and changes nothing. */
function aptThatKnowsNothing(): Record<string, string> {
  const folder = aDirectory()
  for (const name of ['lists/partial', 'cache/archives/partial', 'sources'])
    mkdirSync(join(folder, name), { recursive: true })
  writeFileSync(join(folder, 'status'), '')
  writeFileSync(
    join(folder, 'apt.conf'),
    `Dir::State "${folder}"; Dir::State::status "${folder}/status"; Dir::State::lists "${folder}/lists"; Dir::Cache "${folder}/cache";
     Dir::Etc::sourcelist "/dev/null"; Dir::Etc::sourceparts "${folder}/sources"; APT::Get::Simulate "true"; APT::Sandbox::User "root";`,
  )
  return { PATH: process.env['PATH'] ?? '', APT_CONFIG: join(folder, 'apt.conf') }
}

test.skipIf(!canInstall({}))('the output of an installer that fails is quoted', () => {
  expect(installBrowser(aptThatKnowsNothing())).toMatch(
    /^apt-get install -y --no-install-recommends chromium failed: .*[Uu]nable to locate package chromium/,
  )
})
