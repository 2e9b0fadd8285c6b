/** Programs that look for what is not theirs. */
import { readFileSync } from 'node:fs'
import { expect } from 'vitest'
import { SECRET } from '../support/grounds.ts'
import { type Hostile, lines } from './hostile.ts'

const connecting = (to: string) =>
  `const s = require('net').connect(${to}, () => { console.log('connected'); s.destroy() }).on('error', (e) => console.log(e.code))`

export const LOOKING: readonly Hostile[] = [
  {
    attempt: 'reads the processes of others',
    program: { sh: 'cd /proc; ls -d [0-9]*' },
    expect: ({ stdout }) => expect(lines(stdout).map(Number).sort()).toEqual([1, 2]),
  },
  {
    attempt: 'reads the environment, arguments and memory of whoever started it',
    program: {
      sh: 'cat /proc/*/environ /proc/*/cmdline | tr "\\0" "\\n"; head -c 1 /proc/1/mem; cat /proc/1/maps; echo end',
    },
    expect: ({ stdout, stderr }) => {
      expect(stdout.toString()).not.toContain(SECRET)
      expect(stdout.toString()).not.toContain('BELFRY')
      expect(stderr.toString()).not.toContain(SECRET)
      expect(stdout.toString()).toMatch(/end\n$/)
    },
  },
  {
    attempt: 'reads password hashes, home directories and the settings of services',
    program: {
      sh: 'for f in /etc/shadow /etc/gshadow /etc/sudoers /root /home /var /run /srv /boot /sys /opt /mnt /etc/ssh /etc/ssl/private; do [ -e $f ] && echo "sees $f"; done; cut -d: -f1 /etc/passwd',
    },
    expect: ({ stdout }) => expect(lines(stdout)).toEqual(['root', 'program', 'nobody']),
  },
  {
    attempt: 'reads a file of the worker by its path, or through links and ..',
    program: ({ canary }) => ({
      sh: `ln -s '${canary}' link; ln -s / root; cat link root'${canary}' '${canary}' ../../../..'${canary}' /proc/self/root'${canary}' /proc/1/root'${canary}' /proc/self/cwd/../..'${canary}'`,
    }),
    expect: ({ stdout, end }) => {
      expect(stdout.toString()).toBe('')
      expect(end.exitCode).toBe(1)
    },
  },
  {
    attempt: 'writes to descriptors that its worker has open',
    program: {
      sh: 'ls /proc/self/fd; for n in 3 4 5 6 7 8 9; do eval "echo harm >&$n" 2>/dev/null && echo "wrote to $n"; done; for f in /proc/*/fd/*; do [ -f $f ] && echo harm > $f; done 2>/dev/null; echo end',
      stdin: null,
    },
    expect: ({ stdout }, { worker }) => {
      // The fourth is the folder that is being listed.
      expect(lines(stdout)).toEqual(['0', '1', '2', '3', 'end'])
      expect(readFileSync(worker.openFile, 'utf8')).toBe('untouched')
    },
  },
  {
    attempt: 'connects to a server on the loopback interface',
    program: ({ port }) => ({ node: connecting(`{ host: '127.0.0.1', port: ${port} }`) }),
    expect: ({ stdout }) => expect(stdout.toString()).toBe('ECONNREFUSED\n'),
  },
  {
    attempt: 'connects to a server on the loopback interface over IPv6',
    program: ({ port }) => ({ node: connecting(`{ host: '::1', port: ${port} }`) }),
    expect: ({ stdout }) => expect(stdout.toString()).toMatch(/^(ECONNREFUSED|EADDRNOTAVAIL|ENETUNREACH)\n$/),
  },
  {
    attempt: 'asks the metadata address of the cloud',
    program: { node: connecting("{ host: '169.254.169.254', port: 80 }") },
    expect: ({ stdout }) => expect(stdout.toString()).toBe('ENETUNREACH\n'),
  },
  {
    attempt: 'sends packets to the network, and asks for names',
    program: {
      node: `
        const socket = require('dgram').createSocket('udp4')
        socket.send('x', 53, '192.0.2.1', (error) => {
          console.log(error?.code)
          socket.close()
          require('dns').lookup('example.com', (error) => console.log(error?.code))
        })
        console.log(Object.values(require('os').networkInterfaces()).flat().every((one) => one.internal))`,
    },
    expect: ({ stdout }) => expect(stdout.toString()).toMatch(/^true\nENETUNREACH\n(EAI_AGAIN|ENOTFOUND)\n$/),
  },
  {
    attempt: 'connects to the socket of another process',
    program: ({ socketPath }) => ({ node: connecting(`{ path: ${JSON.stringify(socketPath)} }`) }),
    expect: ({ stdout }) => expect(stdout.toString()).toBe('ENOENT\n'),
  },
  {
    attempt: 'writes to the system, to devices and to settings of the kernel',
    program: {
      sh: `for f in /x /usr/x /usr/bin/sh /etc/passwd /etc/x /dev/x /dev/mem /dev/sda /program/x "$0" /proc/sys/kernel/core_pattern /proc/sys/kernel/hostname /proc/sysrq-trigger /proc/1/oom_score_adj; do
        (echo harm > $f) 2>/dev/null && echo "wrote $f"
      done; echo end`,
    },
    expect: ({ stdout }) => expect(lines(stdout)).toEqual(['end']),
  },
]
