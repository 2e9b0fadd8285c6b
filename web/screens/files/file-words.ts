/** Describes the size and content of files. */
import type { StoredFile } from '../../api/wire.ts'

const STEP = 1024
const UNITS = ['B', 'KiB', 'MiB', 'GiB'] as const

/** `262144` → `256 KiB`. */
export function sizeWords(bytes: number): string {
  const power = Math.min(UNITS.length - 1, Math.floor(Math.log(Math.max(bytes, 1)) / Math.log(STEP)))
  const value = bytes / STEP ** power
  return `${value < 10 && power > 0 ? value.toFixed(1) : Math.round(value)} ${UNITS[power]}`
}

const KINDS: Readonly<Record<NonNullable<StoredFile['kind']>, string>> = {
  elf: 'Linux program',
  script: 'Script',
  'mach-o': 'macOS program',
  pe: 'Windows program',
  archive: 'Archive',
  text: 'Text',
  data: 'Data',
}

/** `Linux program, x64`, `Script, /bin/sh`. */
export function kindWords({
  kind,
  architecture,
  interpreter,
}: Pick<StoredFile, 'kind' | 'architecture' | 'interpreter'>): string {
  if (kind === null) return '–'
  const detail = kind === 'script' ? interpreter : architecture
  return detail === null ? KINDS[kind] : `${KINDS[kind]}, ${detail}`
}

/** The state of the upload. */
export function stateWords({
  state,
  receivedBytes,
  size,
}: Pick<StoredFile, 'state' | 'receivedBytes' | 'size'>): string {
  if (state === 'ready') return 'Ready'
  if (receivedBytes === 0) return 'Not uploaded'
  return size === null
    ? `${sizeWords(receivedBytes)} received`
    : `${sizeWords(receivedBytes)} of ${sizeWords(size)} received`
}
