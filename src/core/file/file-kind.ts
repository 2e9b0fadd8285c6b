/** Detects what a file is by its first bytes. Its name is ignored. */

export const FILE_KINDS = ['elf', 'script', 'mach-o', 'pe', 'archive', 'text', 'data'] as const

/** The detected kind, and what running the file requires. */
export interface FileKind {
  readonly kind: (typeof FILE_KINDS)[number]
  /** The architecture that a program was compiled for, in the notation of Node.js; null if the file is not a compiled program. */
  readonly architecture: string | null
  /**
   * What must be installed to run the file: the interpreter and arguments of a script, or the loader of a dynamically linked
   * program.
   */
  readonly interpreter: string | null
}

/** Number of bytes that the detection needs. Further bytes do not change the result. */
export const LOOKED_AT_BYTES = 64 * 1024

const plain = (kind: FileKind['kind']): FileKind => ({ kind, architecture: null, interpreter: null })

export function fileKindOf(bytes: Buffer): FileKind {
  const head = bytes.subarray(0, LOOKED_AT_BYTES)
  return elfOf(head) ?? machOf(head) ?? peOf(head) ?? scriptOf(head) ?? plain(otherKindOf(head))
}

function otherKindOf(head: Buffer): FileKind['kind'] {
  if (isArchive(head)) return 'archive'
  return isText(head) ? 'text' : 'data'
}

const ELF = Buffer.from('\x7fELF')
const ELF_MACHINES: Readonly<Record<number, string>> = {
  3: 'ia32',
  8: 'mips',
  20: 'ppc',
  21: 'ppc64',
  22: 's390x',
  40: 'arm',
  62: 'x64',
  183: 'arm64',
  243: 'riscv64',
  258: 'loong64',
}
const ELF_HEADER_BYTES = 64
const PT_INTERP = 3
/** Maximum number of program headers to read. Programs have about ten. */
const MAX_SEGMENTS = 128
const MAX_INTERPRETER_BYTES = 255

function elfOf(head: Buffer): FileKind | null {
  if (!startsWith(head, ELF) || head.length < ELF_HEADER_BYTES) return null
  const is64 = head[4] === 2
  const isLittle = head[5] !== 2
  const machine = number(head, 18, 2, isLittle) ?? 0
  const architecture = ELF_MACHINES[machine] ?? `machine ${machine}`
  return { kind: 'elf', architecture, interpreter: loaderOf(head, { is64, isLittle }) }
}

/** The loader of a dynamically linked program; null for a static one. */
function loaderOf(head: Buffer, { is64, isLittle }: { is64: boolean; isLittle: boolean }): string | null {
  const at = (offset: number, bytes: number) => number(head, offset, bytes, isLittle)
  const table = at(is64 ? 32 : 28, is64 ? 8 : 4) ?? 0
  const entryBytes = at(is64 ? 54 : 42, 2) ?? 0
  const entries = Math.min(at(is64 ? 56 : 44, 2) ?? 0, MAX_SEGMENTS)
  for (let i = 0; i < entries; i++) {
    const entry = table + i * entryBytes
    if (at(entry, 4) !== PT_INTERP) continue
    const from = at(entry + (is64 ? 8 : 4), is64 ? 8 : 4)
    const length = at(entry + (is64 ? 32 : 16), is64 ? 8 : 4)
    if (from === null || length === null) return null
    const text = head.toString('latin1', from, from + Math.min(length, MAX_INTERPRETER_BYTES))
    return shown(text.split('\0')[0] ?? '')
  }
  return null
}

const MACH_MACHINES: Readonly<Record<number, string>> = {
  7: 'ia32',
  12: 'arm',
  [0x01000007]: 'x64',
  [0x0100000c]: 'arm64',
}
const MACH_LITTLE = [0xfeedface, 0xfeedfacf]
const MACH_BIG = [0xcefaedfe, 0xcffaedfe]
const MACH_UNIVERSAL = 0xcafebabe
/** Java class files begin with the same number, followed by their version, which is at least 45. */
const MAX_UNIVERSAL_PARTS = 44

function machOf(head: Buffer): FileKind | null {
  if (head.length < 8) return null
  const magic = head.readUInt32LE(0)
  const isLittle = MACH_LITTLE.includes(magic)
  if (isLittle || MACH_BIG.includes(magic)) {
    const machine = number(head, 4, 4, isLittle) ?? 0
    return {
      kind: 'mach-o',
      architecture: MACH_MACHINES[machine] ?? `machine ${machine}`,
      interpreter: null,
    }
  }
  const isUniversal = head.readUInt32BE(0) === MACH_UNIVERSAL && head.readUInt32BE(4) <= MAX_UNIVERSAL_PARTS
  return isUniversal ? { kind: 'mach-o', architecture: 'universal', interpreter: null } : null
}

const PE_MACHINES: Readonly<Record<number, string>> = {
  [0x014c]: 'ia32',
  [0x01c4]: 'arm',
  [0x8664]: 'x64',
  [0xaa64]: 'arm64',
}
const PE_OFFSET = 0x3c

function peOf(head: Buffer): FileKind | null {
  if (!startsWith(head, Buffer.from('MZ'))) return null
  const at = number(head, PE_OFFSET, 4, true)
  if (at === null || head.toString('latin1', at, at + 4) !== 'PE\0\0') return null
  const machine = number(head, at + 4, 2, true) ?? 0
  return { kind: 'pe', architecture: PE_MACHINES[machine] ?? `machine ${machine}`, interpreter: null }
}

/** Parses the first line as Linux does: two characters, spaces, and the interpreter with its arguments. */
function scriptOf(head: Buffer): FileKind | null {
  if (!startsWith(head, Buffer.from('#!'))) return null
  const line = head.toString('utf8', 2, 2 + MAX_INTERPRETER_BYTES).split('\n')[0] ?? ''
  const interpreter = line.trim()
  return interpreter.startsWith('/') && !/\p{Cc}/u.test(interpreter.replaceAll('\t', ' '))
    ? { kind: 'script', architecture: null, interpreter }
    : null
}

const ARCHIVES: readonly Buffer[] = [
  'PK\x03\x04',
  'PK\x05\x06',
  '\x1f\x8b',
  'BZh',
  '\xfd7zXZ\0',
  '\x28\xb5\x2f\xfd',
  '7z\xbc\xaf\x27\x1c',
  'Rar!\x1a\x07',
  '!<arch>\n',
].map((text) => Buffer.from(text, 'latin1'))
const TAR_OFFSET = 257

const isArchive = (head: Buffer): boolean =>
  ARCHIVES.some((magic) => startsWith(head, magic)) ||
  head.toString('latin1', TAR_OFFSET, TAR_OFFSET + 5) === 'ustar'

/** Begins colour sequences in text for terminals. */
const ESCAPE = String.fromCharCode(27)

/** Whether the bytes are UTF-8 without control characters other than those common in text. The last character may be incomplete. */
function isText(head: Buffer): boolean {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(head, { stream: true })
    return !/\p{Cc}/u.test(text.replace(/[\t\n\r\f]/g, '').replaceAll(ESCAPE, ''))
  } catch {
    return false
  }
}

const startsWith = (head: Buffer, magic: Buffer): boolean => head.subarray(0, magic.length).equals(magic)

/** Reads an integer of the given size; null if the bytes are missing, or if the number is too large to be an offset in the file. */
function number(head: Buffer, offset: number, bytes: number, isLittle: boolean): number | null {
  if (offset < 0 || offset + bytes > head.length) return null
  if (bytes < 8) return isLittle ? head.readUIntLE(offset, bytes) : head.readUIntBE(offset, bytes)
  const value = isLittle ? head.readBigUInt64LE(offset) : head.readBigUInt64BE(offset)
  return value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : null
}

const shown = (text: string): string | null => (text !== '' && !/\p{Cc}/u.test(text) ? text : null)
