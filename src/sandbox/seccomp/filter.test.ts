import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { answer, assemble, encode, type Instruction, jump, label, load, OPERATION } from './bpf.ts'
import {
  ANSWER,
  ARCH_AT,
  AUDIT_ARCH,
  argumentAt,
  filterInstructions,
  NUMBER_AT,
  seccompFilter,
} from './filter.ts'
import { CLONE3, JUDGED, LATEST, REFUSED } from './system-calls.ts'

const HEADERS = {
  x64: '/usr/include/x86_64-linux-gnu/asm/unistd_64.h',
  arm64: '/usr/include/asm-generic/unistd.h',
} as const
const ARCHITECTURES = [
  ['x64', 0],
  ['arm64', 1],
] as const
const CLONE_NEWUSER = 0x1000_0000
const CLONE_VM_AND_FILES = 0x500
const AF_VSOCK = 40

describe.each(ARCHITECTURES)('the filter for %s', (arch, column) => {
  const filter = filterInstructions(arch)
  const judge = (number: number, args: readonly number[] = []) =>
    run(filter, data(AUDIT_ARCH[arch], number, args))

  test('refuses each listed system call, and no other of the known ones', () => {
    const listed = new Set<number | null>(Object.values(REFUSED).map((numbers) => numbers[column]))

    const refused = range(LATEST + 1).filter((number) => judge(number) === ANSWER.notPermitted)

    expect(refused).toEqual([...listed].filter((number) => number !== null).sort((a, b) => a - b))
  })

  test('reports clone3 and every call newer than the list as not implemented', () => {
    expect(judge(CLONE3)).toBe(ANSWER.notImplemented)
    expect(judge(LATEST)).toBe(ANSWER.allow)
    expect(judge(LATEST + 1)).toBe(ANSWER.notImplemented)
    expect(judge(0x3fff_ffff)).toBe(ANSWER.notImplemented)
  })

  test('allows processes and threads, and refuses new namespaces', () => {
    const clone = JUDGED.clone[column]

    expect(judge(clone, [CLONE_VM_AND_FILES])).toBe(ANSWER.allow)
    expect(judge(clone, [CLONE_NEWUSER | CLONE_VM_AND_FILES])).toBe(ANSWER.notPermitted)
    for (const bit of [17, 25, 26, 27, 28, 29, 30])
      expect(judge(clone, [2 ** bit]), `flag ${bit}`).toBe(ANSWER.notPermitted)
  })

  test('allows network and local sockets only', () => {
    const socket = JUDGED.socket[column]
    const allowed = range(64).filter((family) => judge(socket, [family]) === ANSWER.allow)

    expect(allowed).toEqual([1, 2, 10, 16])
    expect(judge(socket, [AF_VSOCK])).toBe(ANSWER.noFamily)
  })

  test('refuses to inject input into terminals', () => {
    const ioctl = JUDGED.ioctl[column]

    expect(judge(ioctl, [0, 0x5412])).toBe(ANSWER.notPermitted)
    expect(judge(ioctl, [0, 0x541c])).toBe(ANSWER.notPermitted)
    expect(judge(ioctl, [0, 0x5413])).toBe(ANSWER.allow)
  })

  test('kills programs of other architectures', () => {
    const others = [0x4000_0003, 0x4000_0028, ...Object.values(AUDIT_ARCH)].filter(
      (one) => one !== AUDIT_ARCH[arch],
    )

    for (const other of others) expect(run(filter, data(other, 1, []))).toBe(ANSWER.kill)
  })

  test('is encoded in the format of the kernel', () => {
    const bytes = seccompFilter(arch)

    expect(bytes.length).toBe(filter.length * 8)
    expect(bytes.subarray(0, 8).toString('hex')).toBe('2000000004000000')
    expect(disassemble(bytes)).toEqual(filter)
  })

  test.runIf(existsSync(HEADERS[arch]))('has the numbers of the kernel’s headers', () => {
    const text = readFileSync(HEADERS[arch], 'utf8')
    const known = new Map(
      [...text.matchAll(/^#define __NR(?:3264)?_(\w+)\s+(\d+)/gm)].map(([, name, number]) => [
        name,
        Number(number),
      ]),
    )

    for (const [name, numbers] of Object.entries({ ...REFUSED, ...JUDGED }))
      if (known.has(name)) expect([name, numbers[column]]).toEqual([name, known.get(name)])
    expect(known.get('clone3') ?? CLONE3).toBe(CLONE3)
  })
})

test('the filter for x64 refuses the x32 ABI', () => {
  const filter = filterInstructions('x64')
  const judge = (number: number) => run(filter, data(AUDIT_ARCH.x64, number, []))

  expect(judge(0x4000_0000)).toBe(ANSWER.notPermitted)
  expect(judge(0x4000_0000 + 39)).toBe(ANSWER.notPermitted)
  expect(judge(0xffff_ffff)).toBe(ANSWER.notPermitted)
})

test('a jump leads to its label, and a jump without a label or too far is refused', () => {
  const lines = [load(NUMBER_AT), jump('equal', 7, 'found'), answer(1), label('found'), answer(2)]

  expect(run(assemble(lines), data(0, 7, []))).toBe(2)
  expect(run(assemble(lines), data(0, 8, []))).toBe(1)
  expect(() => assemble([jump('equal', 1, 'nowhere')])).toThrow('no label nowhere')
  expect(() => assemble([label('above'), answer(1), jump('equal', 1, 'above')])).toThrow('too far')
  const far = [jump('equal', 1, 'end'), ...range(256).map(() => answer(1)), label('end'), answer(2)]
  expect(() => assemble(far)).toThrow('too far')
})

test('an instruction keeps all bits of its operand', () => {
  expect(encode(assemble([answer(0xffff_fffe)])).toString('hex')).toBe('06000000feffffff')
})

const range = (count: number) => Array.from({ length: count }, (_, i) => i)

/** A `struct seccomp_data` as the kernel fills it. */
function data(arch: number, number: number, args: readonly number[]): Buffer {
  const bytes = Buffer.alloc(argumentAt(6))
  bytes.writeUInt32LE(number, NUMBER_AT)
  bytes.writeUInt32LE(arch, ARCH_AT)
  for (const [i, arg] of args.entries()) bytes.writeBigUInt64LE(BigInt(arg), argumentAt(i))
  return bytes
}

/** The kernel's interpreter, for the instructions that there are. */
function run(program: readonly Instruction[], bytes: Buffer): number {
  let word = 0
  for (let at = 0; at < program.length; at += 1) {
    const { code, ifTrue, ifFalse, operand } = program[at] as Instruction
    switch (code) {
      case OPERATION.load:
        word = bytes.readUInt32LE(operand)
        break
      case OPERATION.equal:
        at += word === operand ? ifTrue : ifFalse
        break
      case OPERATION.greater:
        at += word > operand ? ifTrue : ifFalse
        break
      case OPERATION.anyBit:
        at += (word & operand) !== 0 ? ifTrue : ifFalse
        break
      case OPERATION.answer:
        return operand
      default:
        throw new Error(`unknown instruction ${code}`)
    }
  }
  throw new Error('the filter ends without an answer')
}

function disassemble(bytes: Buffer): Instruction[] {
  return range(bytes.length / 8).map((i) => ({
    code: bytes.readUInt16LE(i * 8),
    ifTrue: bytes.readUInt8(i * 8 + 2),
    ifFalse: bytes.readUInt8(i * 8 + 3),
    operand: bytes.readUInt32LE(i * 8 + 4),
  }))
}
