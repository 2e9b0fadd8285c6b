import { expect, test } from 'vitest'
import { formatSecret, makeSecret, parseSecret, signingKey, signMessage } from './webhook-signature.ts'

test('the signature is the one that Standard Webhooks gives as an example', () => {
  const message = {
    id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    timestamp: '1614265330',
    body: '{"test": 2432232314}',
  }
  const parsed = parseSecret('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw')
  const key = signingKey(parsed.ok ? parsed.secret : Buffer.alloc(0))

  expect(signMessage(message, [key])).toBe('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=')
  expect(signMessage(message, [key, signingKey(makeSecret())]).split(' ')).toEqual([
    'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    expect.stringMatching(/^v1,/),
  ])
})

test('a generated secret is random and can be parsed', () => {
  const secret = makeSecret()

  expect(parseSecret(formatSecret(secret))).toEqual({ ok: true, secret })
  expect(secret).not.toEqual(makeSecret())
})

test.each(['', 'whsec_', 'secret', 'whsec_c2hvcnQ=', `whsec_${'!'.repeat(40)}`, `whsec_${'A'.repeat(120)}`])(
  'an invalid secret is refused: %s',
  (secret) => {
    expect(parseSecret(secret)).toEqual({ ok: false, reason: expect.stringContaining('whsec_') })
  },
)
