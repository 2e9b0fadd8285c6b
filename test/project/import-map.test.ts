import { basename, dirname, join } from 'node:path/posix'
import { expect, test } from 'vitest'
import { FILES, read, SOURCES } from './tree.ts'

type Allowed = readonly string[] | 'everything'

/** Which folders of src each folder may import, as ARCHITECTURE.md says it. */
function readMap(): ReadonlyMap<string, Allowed> {
  const [, block = ''] = /```imports\n(.*?)```/s.exec(read('ARCHITECTURE.md')) ?? []
  const lines = block.trim().split('\n')
  return new Map(
    lines.map((line): [string, Allowed] => {
      const [folder = '', allowed = ''] = line.split('→').map((part) => part.trim())
      if (allowed === 'everything') return [folder, allowed]
      return [folder, allowed === 'nothing' ? [] : allowed.split(/\s+/)]
    }),
  )
}

const map = readMap()
const IMPORT = /(?:\bfrom|\bimport)\s*\(?\s*'(\.[^']+)'/g
const folderOf = (path: string) => /^src\/([^/]+)\//.exec(path)?.[1]

function importsOf(path: string): string[] {
  return [...read(path).matchAll(IMPORT)].map(([, target = '']) => join(dirname(path), target))
}

test('the map names exactly the folders of src', () => {
  const folders = new Set(SOURCES.map(folderOf))

  expect([...map.keys()].sort()).toEqual([...folders].sort())
})

test('folders import only what the map allows', () => {
  const strangers = SOURCES.flatMap((path) => {
    const folder = folderOf(path) ?? ''
    const allowed = map.get(folder) ?? []
    return importsOf(path)
      .filter((target) => {
        const other = folderOf(target)
        if (other === folder) return false
        return other === undefined || (allowed !== 'everything' && !allowed.includes(other))
      })
      .map((target) => `${path} imports ${target}`)
  })

  expect(strangers).toEqual([])
})

test('the map grants no import that no file uses', () => {
  const used = new Set(
    SOURCES.flatMap((path) => importsOf(path).map((target) => `${folderOf(path)} → ${folderOf(target)}`)),
  )
  const granted = [...map].flatMap(([folder, allowed]) =>
    allowed === 'everything' ? [] : allowed.map((other) => `${folder} → ${other}`),
  )

  expect(granted.filter((grant) => !used.has(grant))).toEqual([])
})

/** What the dashboard takes from the program: values of core, and types of what goes over the wire. */
test('the dashboard imports only core and types of the API', () => {
  const IMPORT_FROM_SRC = /import (type )?[^'"]*? from '(?:\.\.\/)+src\/([^']+)'/g
  const pages = FILES.filter((path) => /^web\/.*\.tsx?$/.test(path))
  const strangers = pages.flatMap((path) =>
    [...read(path).matchAll(IMPORT_FROM_SRC)]
      .filter(
        ([, type, target = '']) => !target.startsWith('core/') && !(type && /^api\/.*schemas/.test(target)),
      )
      .map(([line]) => `${path}: ${line}`),
  )

  expect(pages.length).toBeGreaterThan(0)
  expect(strangers).toEqual([])
})

test('no file has a vague name such as utils', () => {
  const vague = FILES.filter(
    (path) =>
      /\.(tsx?|mjs)$/.test(path) && /^(utils?|common|helpers?|types|misc)(\.|-|$)/.test(basename(path)),
  )

  expect(vague).toEqual([])
})
