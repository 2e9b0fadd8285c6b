/** What is installed: exactly what was chosen, on every Node.js we promise, under licences anybody can accept. */
import { createRequire } from 'node:module'
import { expect, test } from 'vitest'
import { read } from './tree.ts'

interface Package {
  readonly version?: string
  readonly resolved?: string
  readonly integrity?: string
  readonly license?: string
  readonly engines?: { readonly node?: string }
  readonly dev?: boolean
  readonly optional?: boolean
  readonly hasInstallScript?: boolean
}

const OLDEST_NODE = '20.19.0'
const PERMISSIVE = [
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'CC0-1.0',
  'ISC',
  'MIT',
  'MIT-0',
  'Unlicense',
]
/** Tools that are not shipped may also be under licences that ask something of those who change them. */
const ACCEPTED_FOR_TOOLS = [...PERMISSIVE, 'MPL-2.0']

const manifest = JSON.parse(read('package.json')) as Record<string, Record<string, string> | undefined>
const lockfile = JSON.parse(read('package-lock.json')) as { packages: Record<string, Package> }
const locked = Object.entries(lockfile.packages).filter(([path]) => path !== '')
const semver = createRequire(import.meta.url)('semver') as {
  satisfies(version: string, range: string): boolean
}

test('every direct dependency has an exact version', () => {
  const named = ['dependencies', 'devDependencies', 'optionalDependencies', 'overrides'].flatMap((kind) =>
    Object.entries(manifest[kind] ?? {}),
  )

  expect(named.length).toBeGreaterThan(0)
  expect(named.filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))).toEqual([])
})

test('the lockfile has the version of every direct dependency', () => {
  const named = {
    ...manifest['dependencies'],
    ...manifest['devDependencies'],
    ...manifest['optionalDependencies'],
  }

  for (const [name, version] of Object.entries(named))
    expect(lockfile.packages[`node_modules/${name}`]?.version, name).toBe(version)
})

/** Builds of our tools for other platforms: never unpacked here, so the lockfile knows little about them. */
const isForeignTool = ({ dev, optional, license }: Package) =>
  dev === true && optional === true && license === undefined

test('the lockfile records hashes and no download addresses', () => {
  const unverified = locked.filter(([, pkg]) => !isForeignTool(pkg) && !pkg.integrity?.startsWith('sha512-'))

  expect(unverified.map(([path]) => path)).toEqual([])
  expect(locked.filter(([, { resolved }]) => resolved !== undefined).map(([path]) => path)).toEqual([])
})

test('every package supports the oldest Node.js that Belfry supports', () => {
  const refusing = locked.filter(
    ([, { engines }]) => engines?.node !== undefined && !semver.satisfies(OLDEST_NODE, engines.node),
  )

  expect(refusing.map(([path, { engines }]) => `${path}: ${engines?.node}`)).toEqual([])
  expect(semver.satisfies(OLDEST_NODE, manifest['engines']?.['node'] ?? '')).toBe(true)
})

/** `MIT OR Apache-2.0` is acceptable when one of them is. */
const isOneOf = (license: string, accepted: readonly string[]) =>
  license
    .replace(/[()]/g, '')
    .split(' OR ')
    .some((choice) => accepted.includes(choice))

test('licences are permissive', () => {
  const others = locked.filter(
    ([, pkg]) =>
      !isForeignTool(pkg) && !isOneOf(pkg.license ?? '', pkg.dev ? ACCEPTED_FOR_TOOLS : PERMISSIVE),
  )

  expect(others.map(([path, { license }]) => `${path}: ${license}`)).toEqual([])
})

test('no package runs an install script', () => {
  const withScript = locked.filter(([, { hasInstallScript }]) => hasInstallScript)
  const names = withScript.map(([path]) => path.replace(/^.*node_modules\//, ''))

  expect(read('scripts/install.mjs')).toContain("'--ignore-scripts'")
  expect(manifest['allowScripts']).toEqual(Object.fromEntries(names.map((name) => [name, false])))
})
