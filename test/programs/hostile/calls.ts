/** Programs that ask the kernel for more than they were given. */
import { expect } from 'vitest'
import { CLONE3, JUDGED, REFUSED } from '../../../src/sandbox/seccomp/system-calls.ts'
import { type Architecture, callingProgram, codeProgram, readResults } from '../support/machine-code.ts'
import { type Hostile, lines } from './hostile.ts'

const ARCH = process.arch as Architecture
const COLUMN = ARCH === 'x64' ? 0 : 1
const [EPERM, EINVAL, ENOSYS, EAFNOSUPPORT] = [-1, -22, -38, -97]
/** Numbers on x64 and arm64. */
const SETUID = [105, 146][COLUMN] ?? 0
const SETGROUPS = [116, 159][COLUMN] ?? 0
const GETPID = [39, 172][COLUMN] ?? 0
const MKNODAT = [259, 33][COLUMN] ?? 0
const PRCTL = [157, 167][COLUMN] ?? 0
const [AT_FDCWD, S_IFCHR, S_IFIFO] = [-100, 0o020000, 0o010000]
const [PR_SET_DUMPABLE, PR_CAP_AMBIENT, PR_GET_NO_NEW_PRIVS, PR_GET_SECCOMP] = [4, 47, 39, 21]
const CLONE_NEWUSER = 0x1000_0000
const FAMILIES = { AF_PACKET: 17, AF_KEY: 15, AF_ALG: 38, AF_VSOCK: 40, AF_XDP: 44 }

const refused = Object.entries(REFUSED).filter(([, numbers]) => numbers[COLUMN] !== null)
/** Calls that take a path, with one; others get zeros, which the filter judges the same. */
const ARGUMENTS: Readonly<Record<string, readonly (number | string)[]>> = {
  mount: ['none', '/tmp', 'tmpfs', 0, 0],
  umount2: ['/usr', 2],
  chroot: ['/tmp'],
  pivot_root: ['/tmp', '/tmp'],
  ptrace: [16, 1],
  unshare: [CLONE_NEWUSER],
  add_key: ['user', 'name', 'value', 5, -3],
  request_key: ['user', 'name', 0, 0],
  keyctl: [0, -3, 1],
  fsopen: ['tmpfs', 0],
  open_tree: [AT_FDCWD, '/', 1],
}

export const CALLS: readonly Hostile[] = [
  {
    attempt:
      'traces, mounts, loads modules, reads keyrings, makes namespaces, and everything else on the list',
    program: {
      bytes: callingProgram(
        ARCH,
        refused.map(([name, numbers]) => ({ number: numbers[COLUMN] ?? 0, args: ARGUMENTS[name] ?? [] })),
      ),
    },
    expect: ({ stdout, end }) => {
      expect(end).toMatchObject({ cause: 'exited', exitCode: 0 })
      expect(Object.fromEntries(readResults(stdout).map((result, i) => [refused[i]?.[0], result]))).toEqual(
        Object.fromEntries(refused.map(([name]) => [name, EPERM])),
      )
    },
  },
  {
    attempt: 'makes processes in new namespaces, in each way that there is',
    program: {
      bytes: callingProgram(ARCH, [
        { number: JUDGED.clone[COLUMN], args: [CLONE_NEWUSER | 17, 0, 0, 0, 0] },
        { number: CLONE3, args: ['', 88] },
      ]),
    },
    expect: ({ stdout }) => expect(readResults(stdout)).toEqual([EPERM, ENOSYS]),
  },
  {
    attempt: 'opens sockets that belong to no network namespace',
    program: {
      bytes: callingProgram(
        ARCH,
        Object.values(FAMILIES).map((family) => ({ number: JUDGED.socket[COLUMN], args: [family, 1, 0] })),
      ),
    },
    expect: ({ stdout }) =>
      expect(readResults(stdout)).toEqual(Object.values(FAMILIES).map(() => EAFNOSUPPORT)),
  },
  {
    attempt: 'calls the kernel under the numbers of another ABI',
    program: { bytes: callingProgram(ARCH, [{ number: 0x4000_0000 + GETPID, args: [] }]) },
    expect: ({ stdout }) => expect(readResults(stdout)).toEqual([ARCH === 'x64' ? EPERM : ENOSYS]),
  },
  {
    attempt: 'becomes root',
    program: {
      bytes: callingProgram(ARCH, [
        { number: SETUID, args: [0] },
        { number: SETGROUPS, args: [0, 0] },
        { number: PRCTL, args: [PR_CAP_AMBIENT, 2, 21, 0, 0] },
        { number: PRCTL, args: [PR_SET_DUMPABLE, 1] },
        { number: PRCTL, args: [PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0] },
        { number: PRCTL, args: [PR_GET_SECCOMP] },
      ]),
    },
    // Root is not even a user here; no new privileges are possible, and the filter is in force.
    expect: ({ stdout }) => expect(readResults(stdout)).toEqual([EINVAL, EPERM, EPERM, 0, 1, 2]),
  },
  {
    attempt: 'runs programs that would make it root',
    program: {
      sh: `find /usr/bin -perm -4000 -type f > list
        cp /usr/bin/id . && chmod 4755 id && ./id -u
        for f in $(cat list); do case $f in */su|*/sudo|*/newgrp|*/passwd) $f </dev/null >/dev/null 2>&1;; esac; done
        grep -E "^(CapPrm|CapEff|CapBnd|CapAmb|NoNewPrivs|Seccomp):" /proc/self/status | tr -d "\\t"; id -u`,
    },
    expect: ({ stdout }) => {
      const none = '0000000000000000'
      expect(lines(stdout)).toEqual([
        '1000',
        ...[
          `CapPrm:${none}`,
          `CapEff:${none}`,
          `CapBnd:${none}`,
          `CapAmb:${none}`,
          'NoNewPrivs:1',
          'Seccomp:2',
        ],
        '1000',
      ])
    },
  },
  {
    attempt: 'makes device files',
    program: {
      bytes: callingProgram(ARCH, [
        { number: MKNODAT, args: [AT_FDCWD, 'memory', S_IFCHR | 0o666, 0x101] },
        { number: MKNODAT, args: [AT_FDCWD, 'pipe', S_IFIFO | 0o666, 0] },
      ]),
    },
    expect: ({ stdout }) => expect(readResults(stdout)).toEqual([EPERM, 0]),
  },
  ...(ARCH === 'x64'
    ? [
        {
          attempt: 'calls the kernel as a program of 32 bits',
          // mov eax, 20 (getpid); int 0x80; mov eax, 60; xor edi, edi; syscall
          program: {
            bytes: codeProgram('x64', Buffer.from('b814000000cd80b83c00000031ff0f05', 'hex')),
          },
          expect: ({ end }) => expect(end).toMatchObject({ cause: 'exited', signal: 'SIGSYS' }),
        } satisfies Hostile,
      ]
    : []),
]
