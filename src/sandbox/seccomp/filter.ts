/**
 * The system call filter for programs. It rejects calls that ordinary programs do not need and that have been used to escape
 * sandboxes; namespaces and missing capabilities provide the rest of the protection, so the list can be short. System calls
 * newer than the list appear not to exist, so that a new kernel does not expose new calls.
 */

import { answer, assemble, encode, type Instruction, jump, type Line, label, load } from './bpf.ts'
import { CLONE3, JUDGED, LATEST, REFUSED } from './system-calls.ts'

export type Architecture = 'x64' | 'arm64'

/** Return values of the filter: SECCOMP_RET_… */
export const ANSWER = {
  allow: 0x7fff_0000,
  kill: 0x8000_0000,
  notPermitted: 0x0005_0001, // EPERM
  notImplemented: 0x0005_0026, // ENOSYS
  noFamily: 0x0005_0061, // EAFNOSUPPORT
} as const

/** AUDIT_ARCH_… */
export const AUDIT_ARCH: Readonly<Record<Architecture, number>> = { x64: 0xc000_003e, arm64: 0xc000_00b7 }

/** Offsets in `struct seccomp_data`. The lower half of an argument is enough: the arguments checked have 32 bits. */
export const NUMBER_AT = 0
export const ARCH_AT = 4
export const argumentAt = (n: number): number => 16 + 8 * n

/** The first number of the x32 ABI, which has most calls of x64 under other numbers. */
const X32 = 0x4000_0000
/** All CLONE_NEW… flags of `clone`. */
const NEW_NAMESPACES = 0x7e02_0000
/** AF_UNIX, AF_INET, AF_INET6, AF_NETLINK. Other families, such as AF_VSOCK, are not isolated by network namespaces. */
const FAMILIES = [1, 2, 10, 16]
/** TIOCSTI and TIOCLINUX inject input into a terminal. */
const TERMINAL_INPUT = [0x5412, 0x541c]

/** Whether there is a filter for an architecture, as named by Node.js. */
export const isFiltered = (arch: string): arch is Architecture => arch === 'x64' || arch === 'arm64'

/** Returns the filter in the format that `bwrap --seccomp` reads. */
export const seccompFilter = (arch: Architecture): Buffer => encode(filterInstructions(arch))

export function filterInstructions(arch: Architecture): readonly Instruction[] {
  const column = arch === 'x64' ? 0 : 1
  const refused = Object.values(REFUSED)
    .map((numbers) => numbers[column])
    .filter((number) => number !== null)
  return assemble([
    load(ARCH_AT),
    jump('equal', AUDIT_ARCH[arch], 'own'),
    // A program of another architecture could not even exit if its calls were only refused.
    answer(ANSWER.kill),
    label('own'),
    load(NUMBER_AT),
    ...(arch === 'x64' ? [jump('greater', X32 - 1, 'refuse')] : []),
    jump('greater', LATEST, 'unknown'),
    jump('equal', CLONE3, 'unknown'),
    ...refused.map((number) => jump('equal', number, 'refuse')),
    ...Object.entries(JUDGED).map(([name, numbers]) => jump('equal', numbers[column], name)),
    answer(ANSWER.allow),
    ...judgement('clone', 0, [jump('anyBit', NEW_NAMESPACES, 'refuse')], ANSWER.allow),
    ...judgement(
      'socket',
      0,
      FAMILIES.map((family) => jump('equal', family, 'allow')),
      ANSWER.noFamily,
    ),
    ...judgement(
      'ioctl',
      1,
      TERMINAL_INPUT.map((request) => jump('equal', request, 'refuse')),
      ANSWER.allow,
    ),
    label('allow'),
    answer(ANSWER.allow),
    label('refuse'),
    answer(ANSWER.notPermitted),
    label('unknown'),
    answer(ANSWER.notImplemented),
  ])
}

const judgement = (name: string, argument: number, jumps: readonly Line[], otherwise: number): Line[] => [
  label(name),
  load(argumentAt(argument)),
  ...jumps,
  answer(otherwise),
]
