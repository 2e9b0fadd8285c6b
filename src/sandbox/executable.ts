/**
 * Checks in advance whether this machine can execute a file. A shell that is asked to execute a file that is not a program
 * reads it as a script: an empty file would succeed, and a truncated one would execute arbitrary bytes.
 */

import { constants } from 'node:fs'
import { access, open } from 'node:fs/promises'
import { endianness } from 'node:os'
import type { Architecture } from './seccomp/filter.ts'

/** Why a file cannot be executed: the file is invalid, or something is missing on this machine. */
export interface Obstacle {
  readonly cause: 'not_executable' | 'spawn_failed'
  readonly message: string
}

/** BINPRM_BUF_SIZE: the kernel reads at most this much of the first line. */
const SCRIPT_LINE_BYTES = 256
const ELF_HEADER_BYTES = 64
const PROGRAM_HEADER_BYTES = 56
/** The kernel allows 64 KiB of program headers; real programs have a dozen. */
const MAX_PROGRAM_HEADERS = 1_170
const MAX_LOADER_PATH_BYTES = 4_096
const PT_LOAD = 1
const PT_INTERP = 3
const ET_EXEC = 2
const ET_DYN = 3
const MACHINES: Readonly<Record<number, string>> = {
  3: 'x86 (32 bits)',
  21: 'ppc64',
  22: 's390x',
  40: 'arm (32 bits)',
  62: 'x64',
  183: 'arm64',
  243: 'riscv64',
}
const FOREIGN: readonly (readonly [hex: string, name: string])[] = [
  ['4d5a', 'a Windows program'],
  ['cafebabe', 'a macOS program or a Java class'],
  ['cffaedfe', 'a macOS program'],
  ['504b0304', 'a zip archive'],
  ['1f8b', 'a gzip archive'],
]

/** Returns null if the file can be executed. */
export async function findObstacle(
  path: string,
  arch: Architecture | string = process.arch,
): Promise<Obstacle | null> {
  let file: Awaited<ReturnType<typeof open>>
  try {
    // Without O_NONBLOCK, opening a named pipe would wait for a writer.
    file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  } catch (error) {
    return missing(`Cannot open ${path}: ${(error as Error).message}.`)
  }
  try {
    const stat = await file.stat()
    if (!stat.isFile()) return wrong(`${path} is not a file.`)
    if (stat.size === 0) return wrong('The file is empty.')
    const read = async (position: number, length: number) => {
      const { bytesRead, buffer } = await file.read(Buffer.alloc(length), 0, length, position)
      return buffer.subarray(0, bytesRead)
    }
    const start = await read(0, SCRIPT_LINE_BYTES)
    if (start.subarray(0, 2).toString('latin1') === '#!') return await scriptObstacle(start)
    if (start.subarray(0, 4).toString('latin1') === '\x7fELF')
      return await elfObstacle(start, stat.size, arch, read)
    return wrong(
      `The file is ${foreignKind(start) ?? 'not a program'}: it must be an ELF program for ${arch}, or a script whose first line ` +
        'begins with #!, such as #!/bin/sh.',
    )
  } finally {
    await file.close()
  }
}

async function scriptObstacle(start: Buffer): Promise<Obstacle | null> {
  const end = start.indexOf(0x0a)
  const line = start.subarray(2, end === -1 ? undefined : end).toString('utf8')
  if (line.endsWith('\r'))
    return wrong('The first line of the script ends with a carriage return. Save it with Unix line endings.')
  const interpreter = line.trim().split(/[ \t]/, 1)[0] ?? ''
  if (!interpreter.startsWith('/') || interpreter.includes('\0'))
    return wrong('The first line of the script must name its interpreter by an absolute path: #!/bin/sh.')
  if (await canExecute(interpreter)) return null
  return missing(`The interpreter of the script, ${interpreter}, is not on this machine.`)
}

async function elfObstacle(
  start: Buffer,
  size: number,
  arch: string,
  read: (position: number, length: number) => Promise<Buffer>,
): Promise<Obstacle | null> {
  if (start.length < ELF_HEADER_BYTES) return TRUNCATED
  const machine = start.readUInt16LE(18)
  // Byte 5 is the byte order; with the other byte order, the machine field would be read incorrectly.
  const isNative = start[4] === 2 && start[5] === (endianness() === 'LE' ? 1 : 2)
  if (!isNative || MACHINES[machine] !== arch)
    return wrong(
      `The program is built for ${MACHINES[machine] ?? 'another processor'}, and this machine is ${arch}.`,
    )
  const type = start.readUInt16LE(16)
  if (type !== ET_EXEC && type !== ET_DYN)
    return wrong('The file is an ELF object, not a program: link it first.')
  const at = Number(start.readBigUInt64LE(32))
  const count = start.readUInt16LE(56)
  if (start.readUInt16LE(54) !== PROGRAM_HEADER_BYTES || count === 0 || count > MAX_PROGRAM_HEADERS)
    return wrong('The ELF header of the program is damaged.')
  const headers = await read(at, count * PROGRAM_HEADER_BYTES)
  if (headers.length < count * PROGRAM_HEADER_BYTES) return TRUNCATED
  for (let i = 0; i < count; i += 1) {
    const header = headers.subarray(i * PROGRAM_HEADER_BYTES, (i + 1) * PROGRAM_HEADER_BYTES)
    const kind = header.readUInt32LE(0)
    if (kind !== PT_LOAD && kind !== PT_INTERP) continue
    const [offset, length] = [Number(header.readBigUInt64LE(8)), Number(header.readBigUInt64LE(32))]
    if (offset + length > size) return TRUNCATED
    if (kind !== PT_INTERP) continue
    const loader = (await read(offset, Math.min(length, MAX_LOADER_PATH_BYTES)))
      .toString('utf8')
      .replace(/\0.*$/s, '')
    if (!(await canExecute(loader)))
      return missing(`The loader that the program needs, ${loader}, is not on this machine.`)
  }
  return null
}

const wrong = (message: string): Obstacle => ({ cause: 'not_executable', message })
const missing = (message: string): Obstacle => ({ cause: 'spawn_failed', message })
const TRUNCATED = wrong('The program is truncated: the file ends before the program does.')

function foreignKind(start: Buffer): string | undefined {
  const hex = start.subarray(0, 4).toString('hex')
  return FOREIGN.find(([magic]) => hex.startsWith(magic))?.[1]
}

/** Whether this process may execute a file. */
export async function canExecute(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
