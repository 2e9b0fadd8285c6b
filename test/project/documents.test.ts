import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path/posix'
import { expect, test } from 'vitest'
import { CONFIG_KEYS, flagOf } from '../../src/runtime/config/settings.ts'
import { SUITES } from './suites.ts'
import { FILES, ROOT, read } from './tree.ts'

const PAGES = FILES.filter((path) => path.endsWith('.md'))

/** What is said, without what is only quoted. */
const prose = (text: string) => text.replace(/^```.*?^```$/gms, '').replace(/`[^`\n]*`/g, '')

interface Link {
  readonly page: string
  readonly target: string
  readonly anchor: string
}

function linksOf(page: string): Link[] {
  const text = prose(read(page))
  const found = [...text.matchAll(/\]\(([^)\s]+)\)/g), ...text.matchAll(/(?:src|srcset|href)="([^"\s]+)"/g)]
  return found
    .map(([, address = '']) => address)
    .filter((address) => !/^[a-z]+:/.test(address))
    .map((address) => {
      const [path = '', anchor = ''] = address.split('#')
      return { page, target: path === '' ? page : join(dirname(page), path), anchor }
    })
}

const links = PAGES.flatMap(linksOf)

/** The names by which headings can be linked to, as hosting sites make them. */
const anchorsOf = (page: string) =>
  [...read(page).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  )

test('relative links lead to files and headings that exist', () => {
  const dead = links.filter(
    ({ target, anchor }) =>
      !existsSync(join(ROOT, target)) || (anchor !== '' && !anchorsOf(target).includes(anchor)),
  )

  expect(dead).toEqual([])
})

test('source files that a page names exist', () => {
  const named = PAGES.filter((page) => page !== 'CHANGELOG.md').flatMap((page) =>
    [...read(page).matchAll(/\b(?:src|test|web|scripts|examples)\/[\w./-]+\.(?:tsx?|mjs)\b/g)].map(
      ([path]) => ({
        page,
        path,
      }),
    ),
  )

  expect(named.length).toBeGreaterThan(0)
  expect(named.filter(({ path }) => !existsSync(join(ROOT, path)))).toEqual([])
})

test('statements that ARCHITECTURE.md names are in the file that it names', () => {
  const named = [
    ...read('ARCHITECTURE.md').matchAll(/^\|[^|]*\|([^|]*`[^|]*)\| `(src\/\S+)` *\|$/gm),
  ].flatMap(([, names = '', path = '']) =>
    [...names.matchAll(/`(\w+)`/g)].map(([, name]) => ({ name, path })),
  )

  expect(named.length).toBeGreaterThan(0)
  expect(
    named.filter(
      ({ name, path }) => !new RegExp(`^export (?:const|function) ${name}\\b`, 'm').test(read(path)),
    ),
  ).toEqual([])
})

test('ARCHITECTURE.md describes every table', () => {
  const tables = [...read('migrations/schema.sql').matchAll(/^create (?:unlogged )?table (\w+)/gm)]
  const page = read('ARCHITECTURE.md')

  expect(tables.length).toBeGreaterThan(0)
  expect(tables.map(([, name]) => name).filter((name) => !page.includes(`\`${name}\``))).toEqual([])
})

test('every page below the root is linked from another page', () => {
  const linked = new Set(links.filter(({ page, target }) => page !== target).map(({ target }) => target))

  expect(
    PAGES.filter((page) => page.includes('/') && !linked.has(page) && page !== 'docs/adr/README.md'),
  ).toEqual([])
})

test('every drawing has a light and a dark version that differ only in colours', () => {
  const drawings = FILES.filter((path) => /^docs\/images\/.*-light\.svg$/.test(path))
  const withoutColours = (path: string) => read(path).replace(/#[0-9a-f]{6}\b/g, '')

  expect(drawings.length).toBeGreaterThan(0)
  for (const light of drawings) {
    const dark = light.replace('-light.svg', '-dark.svg')
    expect(withoutColours(dark), dark).toBe(withoutColours(light))
    expect(read(dark), dark).not.toBe(read(light))
  }
})

test('the index of decisions lists every decision with its title, date and status', () => {
  const listed = [
    ...read('docs/adr/README.md').matchAll(
      /^\| \[(\d{4})\]\((\S+)\)\s*\| (.+?)\s*\| (\S+)\s*\| (.+?)\s*\|$/gm,
    ),
  ]
  const decisions = FILES.filter((path) => /^docs\/adr\/\d{4}-/.test(path)).map((path) => {
    const [, number, title] = /^# (\d{4}) (.+)$/m.exec(read(path)) ?? []
    const [, date, status] = /^Date: (\S+) · Status: (.+)$/m.exec(read(path)) ?? []
    return [number, path.replace('docs/adr/', ''), title, date, status]
  })

  expect(listed.map(([, ...cells]) => cells)).toEqual(decisions)
})

/** What a reader would type: lines of shell blocks, lines behind a prompt, and what a sentence names. */
const commands = ['README.md', 'CONTRIBUTING.md']
  .map(read)
  .flatMap((text) => [
    ...[...text.matchAll(/^```sh\n(.*?)^```$/gms)].flatMap(([, block = '']) => block.split('\n')),
    ...[...text.matchAll(/^\$ (.*)$/gm)].map(([, line = '']) => line),
    ...[...text.matchAll(/`((?:npm|node) [^`\n]+)`/g)].map(([, line = '']) => line),
  ])

test('npm commands in the documents are scripts of the package', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
  const used = commands.flatMap((line) => /^npm (?:run )?(\w+)/.exec(line)?.[1] ?? [])

  expect(used).toContain('start')
  expect(used.filter((name) => !(name in scripts))).toEqual([])
})

test('suites named in documents, comments and messages exist', () => {
  const names = SUITES.map(({ name }) => name)
  const named = FILES.filter((path) => /\.(?:md|tsx?|mjs)$/.test(path)).flatMap((path) =>
    [...read(path).matchAll(/\bnpm run suite ([a-z][a-z-]*)/g)].map(([, name = '']) => ({ path, name })),
  )

  expect(named.length).toBeGreaterThan(0)
  expect(named.filter(({ name }) => !names.includes(name))).toEqual([])
})

test('commands and flags named in the documents exist', () => {
  const names = FILES.flatMap((path) => /^src\/cli\/commands\/([a-z-]+)\.ts$/.exec(path)?.[1] ?? [])
  const flags = [...CONFIG_KEYS.map(flagOf), '--config', '--help', '--json']
  const typed = commands.flatMap((line) => {
    const [, started] = /^npm start --(.*)/.exec(line) ?? []
    const [, direct] = /^node bin\/belfry\.cjs (.*)/.exec(line) ?? []
    return started === undefined ? (direct ?? []) : `start ${started}`
  })

  expect(typed.length).toBeGreaterThan(0)
  for (const line of typed) {
    const [name, ...args] = line.split(/\s+/)
    expect(names).toContain(name)
    for (const flag of args.filter((arg) => arg.startsWith('--'))) expect(flags).toContain(flag)
  }
})

test('addresses that the README calls are routes of the API', () => {
  const routes = FILES.filter((path) => path.startsWith('src/api/') && !path.endsWith('.test.ts'))
    .flatMap((path) => [...read(path).matchAll(/['`](\/[\w/:.${}-]*)['`]/g)])
    .map(([, route = '']) => new RegExp(`^${route.replace(/:\w+|\$\{\w+\}/g, '[^/]+')}$`))
  const called = [...read('README.md').matchAll(/http:\/\/127\.0\.0\.1:3369(\/[^\s>]*)/g)].map(
    ([, path = '']) => path,
  )

  expect(called.length).toBeGreaterThan(0)
  expect(called.filter((path) => !routes.some((route) => route.test(path)))).toEqual([])
})
