/**
 * The built dashboard, read into memory once: a page and the files that it refers to. Nothing from a request reaches the file
 * system, so no path can lead out of the folder. The build creates the compressed forms.
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

/** The page, with a mark where its nonce belongs, and the files that it refers to. */
export interface DashboardFiles {
  readonly page: string
  readonly assets: ReadonlyMap<string, DashboardFile>
}

const PAGE = 'index.html'
/** The folder of files whose names contain a hash of their content. */
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

/** Returns null if the directory contains no dashboard, as in a checkout that was not built. */
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
