import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { fileKindOf, LOOKED_AT_BYTES } from './file-kind.ts'

const kindOf = (bytes: Buffer | string) =>
  fileKindOf(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes)

test('the running program has the format and architecture of this machine', () => {
  const kind = { linux: 'elf', darwin: 'mach-o', win32: 'pe' }[process.platform as 'linux']

  expect(fileKindOf(readFileSync(process.execPath))).toMatchObject({ kind, architecture: process.arch })
})

/** An ELF header of a program with one segment. */
function elf({ machine = 62, bits = 64, isLittle = true, loader = '' } = {}): Buffer {
  const bytes = Buffer.alloc(400)
  bytes.write('\x7fELF', 'latin1')
  bytes[4] = bits === 64 ? 2 : 1
  bytes[5] = isLittle ? 1 : 2
  const put = (value: number, offset: number, length: number) => {
    if (length === 8) {
      if (isLittle) bytes.writeBigUInt64LE(BigInt(value), offset)
      else bytes.writeBigUInt64BE(BigInt(value), offset)
    } else if (isLittle) bytes.writeUIntLE(value, offset, length)
    else bytes.writeUIntBE(value, offset, length)
  }
  const [word, table] = bits === 64 ? [8, 64] : [4, 52]
  put(machine, 18, 2)
  put(table, bits === 64 ? 32 : 28, word)
  put(bits === 64 ? 56 : 32, bits === 64 ? 54 : 42, 2)
  put(1, bits === 64 ? 56 : 44, 2)
  put(loader === '' ? 1 : 3, table, 4)
  put(200, table + (bits === 64 ? 8 : 4), word)
  put(loader.length + 1, table + (bits === 64 ? 32 : 16), word)
  bytes.write(loader, 200)
  return bytes
}

test.each([
  ['x64', elf({ machine: 62 })],
  ['arm64', elf({ machine: 183 })],
  ['ia32', elf({ machine: 3, bits: 32 })],
  ['s390x', elf({ machine: 22, isLittle: false })],
  ['machine 4242', elf({ machine: 4242 })],
])('a static ELF program for %s has no loader', (architecture, bytes) => {
  expect(kindOf(bytes)).toEqual({ kind: 'elf', architecture, interpreter: null })
})

test.each([
  ['64 bits', elf({ loader: '/lib64/ld-linux-x86-64.so.2' })],
  ['32 bits', elf({ bits: 32, loader: '/lib64/ld-linux-x86-64.so.2' })],
  ['big-endian', elf({ isLittle: false, loader: '/lib64/ld-linux-x86-64.so.2' })],
])('the loader of a dynamic ELF program is found: %s', (_, bytes) => {
  expect(kindOf(bytes).interpreter).toBe('/lib64/ld-linux-x86-64.so.2')
})

test('an ELF header with invalid offsets causes no failure', () => {
  const lost = elf({ loader: '/lib/ld.so' })
  lost.writeBigUInt64LE(2n ** 63n, 32)
  const endless = elf()
  endless.writeUInt16LE(65_535, 56)
  endless.writeUInt16LE(0, 54)

  expect(kindOf(lost)).toMatchObject({ kind: 'elf', interpreter: null })
  expect(kindOf(endless)).toMatchObject({ kind: 'elf', interpreter: null })
  expect(kindOf('\x7fELF')).toMatchObject({ kind: 'data' })
})

const uint32 = (value: number, isLittle = false) => {
  const bytes = Buffer.alloc(4)
  if (isLittle) bytes.writeUInt32LE(value)
  else bytes.writeUInt32BE(value)
  return bytes.toString('latin1')
}
const pe = (machine: number) => {
  const bytes = Buffer.alloc(200)
  bytes.write('MZ')
  bytes.writeUInt32LE(128, 0x3c)
  bytes.write('PE\0\0', 128, 'latin1')
  bytes.writeUInt16LE(machine, 132)
  return bytes
}

test.each([
  ['mach-o', 'arm64', `${uint32(0xfeedfacf, true)}${uint32(0x0100000c, true)}`],
  ['mach-o', 'x64', `${uint32(0xfeedfacf, true)}${uint32(0x01000007, true)}`],
  ['mach-o', 'universal', `${uint32(0xcafebabe)}${uint32(2)}`],
  ['pe', 'x64', pe(0x8664)],
  ['pe', 'arm64', pe(0xaa64)],
])('a %s program for %s is recognised', (kind, architecture, bytes) => {
  expect(kindOf(bytes)).toEqual({ kind, architecture, interpreter: null })
})

test.each([
  ['#!/bin/sh\necho hi\n', '/bin/sh'],
  ['#! /usr/bin/env -S node --test\r\n', '/usr/bin/env -S node --test'],
  ['#!/usr/bin/python3', '/usr/bin/python3'],
])('%j is a script with an interpreter', (text, interpreter) => {
  expect(kindOf(text)).toEqual({ kind: 'script', architecture: null, interpreter })
})

test.each([
  ['text', 'plain text\n\twith é and \x1b[1mcolours\n'],
  ['text', '#!\nnothing'],
  ['text', '#!relative/path\n'],
  ['data', '#!/bin/sh\x00'],
  ['data', '\x00\x01\x02'],
  ['data', Buffer.from([0xff, 0xfe, 0x41, 0x00])],
  ['data', `${uint32(0xcafebabe)}${uint32(52)}`],
  ['data', 'MZ is how this begins\x00'],
  ['data', ''.padEnd(0x3c, '\x01')],
  ['archive', 'PK\x03\x04...'],
  ['archive', '\x1f\x8b\x08'],
  ['archive', `${'name'.padEnd(257, '\0')}ustar`],
])('a file is of kind %s: %j', (kind, bytes) => {
  const sent = typeof bytes === 'string' && /é/.test(bytes) ? Buffer.from(bytes) : bytes
  expect(kindOf(sent)).toEqual({ kind, architecture: null, interpreter: null })
})

test('only the beginning of a text is examined, even if it ends within a character', () => {
  const long = Buffer.concat([Buffer.from('é'.repeat(LOOKED_AT_BYTES)), Buffer.from([0])])

  expect(kindOf(Buffer.concat([Buffer.from('x'), long])).kind).toBe('text')
})
