/**
 * The built dashboard, read once into memory: a page and the files it names. Nothing of a request reaches the
 * file system, so no address can lead out of the folder. Compressed forms are made by the build.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'

export type Encoding = 'br' | 'gzip'

/** One file of the dashboard, in each form it may be sent in. */
export interface DashboardFile {
  readonly type: string
  readonly plain: Buffer
  readonly encoded: Readonly<Partial<Record<Encoding, Buffer>>>
}

/** What the browser gets: the page, with a mark where its nonce belongs, and the files it names. */
export interface DashboardFiles {
  readonly page: string
  readonly assets: ReadonlyMap<string, DashboardFile>
}

const PAGE = 'index.html'
/** Where the build puts files whose name holds a hash of what is in them. */
const ASSETS = 'assets'
const ENDINGS = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const
const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** Null when there is no dashboard in the directory: a checkout that was not built. */
export function readDashboard(directory: string): DashboardFiles | null {
  if (!existsSync(join(directory, PAGE))) return null
  const folder = join(directory, ASSETS)
  const names = readdirSync(folder).filter((name) => extname(name) in TYPES)
  return {
    page: readFileSync(join(directory, PAGE), 'utf8'),
    assets: new Map(names.map((name) => [name, readAsset(join(folder, name))])),
  }
}

function readAsset(path: string): DashboardFile {
  const encoded = ENDINGS.filter(([, ending]) => existsSync(path + ending)).map(([encoding, ending]) => [
    encoding,
    readFileSync(path + ending),
  ])
  return {
    type: TYPES[extname(path)] as string,
    plain: readFileSync(path),
    encoded: Object.fromEntries(encoded),
  }
}
