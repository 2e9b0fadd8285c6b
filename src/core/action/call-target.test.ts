import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseTarget } from '../target/target-name.ts'
import type { Action } from './action.ts'
import { callTargetOf, smtpTargetOf } from './call-target.ts'
import { largeAction } from './large-action.ts'
import { parseSmtpUrl } from './smtp-url.ts'

const ping = (url: string) => callTargetOf({ type: 'ping', url }, () => null)

test.each([
  ['https://api.example.com/hook', 'https://api.example.com'],
  ['HTTPS://API.Example.com:443/hook', 'https://api.example.com'],
  ['https://API.Example.com:0443?a', 'https://api.example.com'],
  ['http://api.example.com:8080#x', 'http://api.example.com:8080'],
  ['http://api.example.com\\x', 'http://api.example.com'],
  ['http://[2606:4700:0::1]:80/', 'http://[2606:4700::1]'],
  ['https://bücher.example/é', 'https://xn--bcher-kva.example'],
  ['https:////api.example.com/x', 'https://api.example.com'],
  ['https:///\t/api.example.com/x', 'https://api.example.com'],
  [' https://api.exa\nmple.com ', 'https://api.example.com'],
  ['http://0x7f.1/', 'http://127.0.0.1'],
  ['https://ann:secret@api.example.com/', null],
  ['https://api.example.com:99999/', null],
  ['ftp://api.example.com/', null],
  ['nonsense', null],
])('the target of a request to %j is %s', (url, target) => {
  expect(ping(url)).toBe(target)
  expect(ping(url)).toBe(target)
})

test('the target equals the origin that URL parsing gives', () => {
  const text = fc.stringMatching(/^(https?|HTTP|ftp):[/\\]{0,3}[A-Za-z0-9.:@[\]\\/?#% \t\n_é-]{0,30}$/)
  fc.assert(
    fc.property(fc.oneof(text, fc.webUrl()), (url) => {
      let expected: string | null = null
      try {
        const { origin, protocol, username, password } = new URL(url)
        if (/^https?:$/.test(protocol) && username + password === '') expected = origin
      } catch {}
      expect(ping(url)).toBe(expected)
    }),
    { numRuns: 500 },
  )
})

test.each<[Action, string | null]>([
  [{ type: 'sleep', duration: '1s' }, null],
  [{ type: 'handler', name: 'resize' }, null],
  [{ type: 'email', to: 'ann@example.com', subject: 'x' }, 'smtp://mail.example.com:587'],
  [{ type: 'slack', url: 'https://hooks.slack.com/services/x' }, 'https://hooks.slack.com'],
])('the action %j calls target %s', (action, target) => {
  const smtp = 'smtp://mail.example.com:587'

  expect(callTargetOf(action, () => smtp)).toBe(target)
  expect(callTargetOf(largeAction(action, 10_000), () => smtp)).toBe(target)
})

test.each([
  ['smtp://ann:x@mail.example.com', 'smtp://mail.example.com:587'],
  ['smtps://mail.example.com', 'smtp://mail.example.com:465'],
  ['smtp://[::1]:25', 'smtp://[::1]:25'],
])('the target of the mail server %s is %s', (url, target) => {
  const read = parseSmtpUrl(url)

  expect(read.ok && smtpTargetOf(read.server)).toBe(target)
  expect(parseTarget(target)).toMatchObject({ ok: true, name: target })
})
