import { createHash, randomBytes } from 'node:crypto'
import { appendFile, mkdir, readdir, readFile, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { scratchFolder } from '../../test/support/scratch-folder.ts'
import { DamagedFile, FileCache, type WantedFile } from './file-cache.ts'

const KIB = 1024

/** A file, and how often it was read. */
function aFile(bytes = randomBytes(3 * KIB)): WantedFile & { readonly bytes: Buffer; reads: number } {
  const file = {
    bytes,
    reads: 0,
    sha256: createHash('sha256').update(bytes).digest('hex'),
    size: bytes.length,
    async *read() {
      file.reads++
      for (let at = 0; at < bytes.length; at += KIB) yield bytes.subarray(at, at + KIB)
    },
  }
  return file
}

const aCache = (folder: string, maxBytes = 100 * KIB) => new FileCache({ folder, maxBytes })

/** Lets a file have been used so long ago. */
const usedAgo = (path: string, ms: number) =>
  utimes(path, new Date(Date.now() - ms), new Date(Date.now() - ms))

test('a file is downloaded once and then found in the cache', async () => {
  const cache = aCache(join(await scratchFolder(), 'not', 'made yet'))
  const file = aFile()

  const [first, second] = await Promise.all([cache.get(file), cache.get(file)])
  const third = await cache.get(file)

  expect([second, third]).toEqual([first, first])
  expect(file.reads).toBe(1)
  expect(await readFile(first)).toEqual(file.bytes)
  expect((await stat(first)).mode & 0o777).toBe(0o755)
  expect((await stat(cache.folder)).mode & 0o777).toBe(0o700)
})

test.each([
  ['changed', (path: string) => writeFile(path, randomBytes(3 * KIB))],
  ['longer', (path: string) => appendFile(path, 'x')],
  ['cut short', (path: string) => writeFile(path, '')],
])('a file that was %s on the disk is fetched again', async (_, spoil) => {
  const cache = aCache(await scratchFolder())
  const file = aFile()
  const path = await cache.get(file)
  await spoil(path)

  await cache.get(file)

  expect(file.reads).toBe(2)
  expect(await readFile(path)).toEqual(file.bytes)
})

test('a file of another size or hash than announced is refused and not kept', async () => {
  const cache = aCache(await scratchFolder())
  const file = aFile()
  const longer = { ...file, size: file.size - 1 }
  const other = { ...file, sha256: aFile().sha256 }

  await expect(cache.get(longer)).rejects.toThrow(DamagedFile)
  await expect(cache.get(other)).rejects.toThrow(DamagedFile)
  expect(await readdir(cache.folder)).toEqual([])
})

test('a download that breaks off leaves nothing behind, and the next one succeeds', async () => {
  const cache = aCache(await scratchFolder())
  const file = aFile()
  const broken = {
    ...file,
    async *read() {
      yield file.bytes.subarray(0, KIB)
      throw new Error('the connection broke off')
    },
  }

  await expect(cache.get(broken)).rejects.toThrow('the connection broke off')
  expect(await readdir(cache.folder)).toEqual([])
  expect(await readFile(await cache.get(file))).toEqual(file.bytes)
})

test('the least recently used files are removed to make room', async () => {
  const cache = aCache(await scratchFolder(), 8 * KIB)
  const [oldest, older, fresh, last] = [aFile(), aFile(), aFile(), aFile()]
  const paths = [await cache.get(oldest), await cache.get(older)]
  await usedAgo(paths[0] as string, 300_000)
  await usedAgo(paths[1] as string, 200_000)

  await cache.get(fresh)
  const afterFirst = await readdir(cache.folder)
  await usedAgo(paths[1] as string, 1_000)
  await cache.get(last)

  expect(afterFirst.sort()).toEqual([older.sha256, fresh.sha256].sort())
  expect((await readdir(cache.folder)).sort()).toEqual([older.sha256, fresh.sha256, last.sha256].sort())
})

test('a file larger than the cache is still used, and is removed for the next file', async () => {
  const cache = aCache(await scratchFolder(), 2 * KIB)
  const large = aFile()

  const path = await cache.get(large)
  await usedAgo(path, 120_000)
  await cache.get(aFile(randomBytes(KIB)))

  expect(await readdir(cache.folder)).not.toContain(large.sha256)
})

test('partial files of a killed process are removed after a day', async () => {
  const folder = await scratchFolder()
  const cache = aCache(folder)
  const [dead, living] = [1, 2].map((n) => `${String(n).repeat(8)}-0000-4000-8000-000000000000.part`)
  for (const name of [dead, living]) await writeFile(join(folder, name as string), 'half')
  await usedAgo(join(folder, dead as string), 25 * 3_600_000)
  await mkdir(join(folder, 'something else'))

  await cache.get(aFile())

  expect(await readdir(folder)).not.toContain(dead)
  expect(await readdir(folder)).toEqual(expect.arrayContaining([living, 'something else']))
})

test('two processes that download one file at the same time both get all of it', async () => {
  const folder = await scratchFolder()
  const bytes = randomBytes(500 * KIB)
  const files = [aFile(bytes), aFile(bytes)]

  const paths = await Promise.all(files.map((file) => aCache(folder, 1_000 * KIB).get(file)))

  expect(paths[0]).toBe(paths[1])
  expect(await readFile(paths[0] as string)).toEqual(bytes)
  expect(await readdir(folder)).toHaveLength(1)
})
