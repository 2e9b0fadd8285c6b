/**
 * Programs made of nothing but system calls. They need no compiler and no library, so the tests can ask the kernel for anything on
 * any machine: each call is made with its arguments, and all results are written to standard output.
 */

export type Architecture = 'x64' | 'arm64'

/** A text is passed as a pointer to it. */
export type Argument = number | string

export interface Call {
  /** The number on this architecture. */
  readonly number: number
  readonly args: readonly Argument[]
}

const BASE = 0x40_0000
const HEADERS_BYTES = 64 + 56
const WORD = 8
/** A number and six arguments. */
const CALL_WORDS = 7
const MACHINE: Readonly<Record<Architecture, number>> = { x64: 62, arm64: 183 }

/** An executable that makes the calls in turn. */
export function callingProgram(arch: Architecture, calls: readonly Call[]): Buffer {
  const codeBytes = code(arch, 0, 0, 0).length
  const table = align(HEADERS_BYTES + codeBytes)
  const texts = table + calls.length * CALL_WORDS * WORD
  const strings: Buffer[] = []
  let end = texts
  const rows = calls.map(({ number, args }) => {
    const row = Buffer.alloc(CALL_WORDS * WORD)
    row.writeBigInt64LE(BigInt(number), 0)
    for (const [i, arg] of args.entries()) row.writeBigInt64LE(BigInt(placed(arg)), (i + 1) * WORD)
    return row
  })
  const results = align(end)
  const bytes = Buffer.alloc(results + calls.length * WORD)
  Buffer.concat([headers(arch, bytes.length), code(arch, BASE + table, calls.length, BASE + results)]).copy(
    bytes,
  )
  Buffer.concat([...rows, ...strings]).copy(bytes, table)
  return bytes

  function placed(arg: Argument): number {
    if (typeof arg === 'number') return arg
    const text = Buffer.from(`${arg}\0`)
    strings.push(text)
    end += text.length
    return BASE + end - text.length
  }
}

/** What it wrote: for each call its answer, or the error number, negative. */
export function readResults(stdout: Buffer): number[] {
  return Array.from({ length: stdout.length / WORD }, (_, i) => Number(stdout.readBigInt64LE(i * WORD)))
}

/** An executable with this code and nothing else. */
export function codeProgram(arch: Architecture, instructions: Buffer): Buffer {
  return Buffer.concat([headers(arch, HEADERS_BYTES + instructions.length), instructions])
}

const align = (offset: number) => Math.ceil(offset / WORD) * WORD

/** An ELF header, and one segment that is the whole file. */
function headers(arch: Architecture, size: number): Buffer {
  const bytes = Buffer.alloc(HEADERS_BYTES)
  bytes.write('\x7fELF\x02\x01\x01', 'latin1')
  bytes.writeUInt16LE(2, 16)
  bytes.writeUInt16LE(MACHINE[arch], 18)
  bytes.writeUInt32LE(1, 20)
  bytes.writeBigUInt64LE(BigInt(BASE + HEADERS_BYTES), 24)
  bytes.writeBigUInt64LE(64n, 32)
  bytes.writeUInt16LE(64, 52)
  bytes.writeUInt16LE(56, 54)
  bytes.writeUInt16LE(1, 56)
  bytes.writeUInt32LE(1, 64)
  bytes.writeUInt32LE(7, 68)
  bytes.writeBigUInt64LE(BigInt(BASE), 80)
  bytes.writeBigUInt64LE(BigInt(BASE), 88)
  bytes.writeBigUInt64LE(BigInt(size), 96)
  bytes.writeBigUInt64LE(BigInt(size), 104)
  bytes.writeBigUInt64LE(0x1000n, 112)
  return bytes
}

const code = (arch: Architecture, table: number, count: number, results: number) =>
  arch === 'x64' ? codeOfX64(table, count, results) : codeOfArm64(table, count, results)

function codeOfX64(table: number, count: number, results: number): Buffer {
  const wide = (value: number) => {
    const bytes = Buffer.alloc(WORD)
    bytes.writeBigUInt64LE(BigInt(value))
    return [...bytes]
  }
  return Buffer.from([
    ...[0x48, 0xbb, ...wide(table)], // mov rbx, table
    ...[0x49, 0xbc, ...wide(count)], // mov r12, count
    ...[0x49, 0xbd, ...wide(results)], // mov r13, results
    ...[0x4d, 0x85, 0xe4, 0x74, 0x2e], // again: test r12, r12; jz done
    ...[0x48, 0x8b, 0x03], // mov rax, [rbx]
    ...[0x48, 0x8b, 0x7b, 0x08], // mov rdi, [rbx+8]
    ...[0x48, 0x8b, 0x73, 0x10], // mov rsi, [rbx+16]
    ...[0x48, 0x8b, 0x53, 0x18], // mov rdx, [rbx+24]
    ...[0x4c, 0x8b, 0x53, 0x20], // mov r10, [rbx+32]
    ...[0x4c, 0x8b, 0x43, 0x28], // mov r8, [rbx+40]
    ...[0x4c, 0x8b, 0x4b, 0x30], // mov r9, [rbx+48]
    ...[0x0f, 0x05], // syscall
    ...[0x49, 0x89, 0x45, 0x00], // mov [r13], rax
    ...[0x48, 0x83, 0xc3, 0x38], // add rbx, 56
    ...[0x49, 0x83, 0xc5, 0x08], // add r13, 8
    ...[0x49, 0xff, 0xcc, 0xeb, 0xcd], // dec r12; jmp again
    ...[0xb8, 1, 0, 0, 0, 0xbf, 1, 0, 0, 0], // done: mov eax, write; mov edi, 1
    ...[0x48, 0xbe, ...wide(results)], // mov rsi, results
    ...[0x48, 0xba, ...wide(count * WORD)], // mov rdx, length
    ...[0x0f, 0x05], // syscall
    ...[0xb8, 60, 0, 0, 0, 0x31, 0xff, 0x0f, 0x05], // mov eax, exit; xor edi, edi; syscall
  ])
}

function codeOfArm64(table: number, count: number, results: number): Buffer {
  const set = (register: number, value: number) => [
    (0xd280_0000 | ((value & 0xffff) << 5) | register) >>> 0,
    (0xf2a0_0000 | (((value >>> 16) & 0xffff) << 5) | register) >>> 0,
  ]
  const load = (register: number, offset: number) =>
    (0xf940_0000 | ((offset / WORD) << 10) | (19 << 5) | register) >>> 0
  const call = 0xd400_0001
  const words = [
    ...set(19, table),
    ...set(20, count),
    ...set(21, results),
    0xb400_0000 | (13 << 5) | 20, // again: cbz x20, done
    load(8, 0),
    ...[0, 1, 2, 3, 4, 5].map((register) => load(register, (register + 1) * WORD)),
    call,
    0xf800_0400 | (WORD << 12) | (21 << 5), // str x0, [x21], #8
    0x9100_0000 | (56 << 10) | (19 << 5) | 19, // add x19, x19, #56
    0xd100_0000 | (1 << 10) | (20 << 5) | 20, // sub x20, x20, #1
    0x1400_0000 | (-12 & 0x3ff_ffff), // b again
    ...[...set(8, 64), ...set(0, 1), ...set(1, results), ...set(2, count * WORD), call], // done: write
    ...[...set(8, 93), ...set(0, 0), call], // exit
  ]
  const bytes = Buffer.alloc(words.length * 4)
  for (const [i, word] of words.entries()) bytes.writeUInt32LE(word >>> 0, i * 4)
  return bytes
}
