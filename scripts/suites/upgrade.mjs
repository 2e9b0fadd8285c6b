/**
 * The last release of releases.json beside this build, on one database under load, judged by test/checker. The release is
 * taken from the history of this clone, and built once in `.belfry/releases`.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runSelected } from './selection.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** @type {import('./index.mjs').Run} */
export function run(args, path) {
  /** @type {{ version: string, commit: string }[]} */
  const releases = JSON.parse(readFileSync(join(root, 'releases.json'), 'utf8'))
  const release = releases.at(-1)
  if (release === undefined) throw new Error('releases.json names no release.')
  const directory = join(root, '.belfry', 'releases', release.version)
  const program = join(directory, 'dist', 'main.js')
  if (!existsSync(program)) buildRelease(release.commit, directory)
  return runSelected(path, args, {
    BELFRY_TEST_RELEASE: program,
    BELFRY_TEST_RELEASE_VERSION: release.version,
  })
}

/**
 * @param {string} commit
 * @param {string} directory
 */
function buildRelease(commit, directory) {
  rmSync(directory, { recursive: true, force: true })
  mkdirSync(directory, { recursive: true })
  const archive = execFileSync('git', ['archive', commit], { cwd: root, maxBuffer: 512 * 1024 * 1024 })
  execFileSync('tar', ['-x', '-C', directory], { input: archive })
  const usesSamePackages =
    packagesOf(join(directory, 'package-lock.json')) === packagesOf(join(root, 'package-lock.json'))
  if (usesSamePackages) symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'))
  else execFileSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: directory, stdio: 'inherit' })
  execFileSync(process.execPath, ['scripts/build.mjs'], { cwd: directory, stdio: 'inherit' })
}

/** All packages but the project itself, whose version differs. @param {string} lockfile */
function packagesOf(lockfile) {
  const { packages } = JSON.parse(readFileSync(lockfile, 'utf8'))
  return JSON.stringify({ ...packages, '': null })
}
