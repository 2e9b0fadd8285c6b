import { expect, test } from 'vitest'
import { makeSecret, secretProblem, signMessage } from './webhook-signature.ts'

test('the signature is the one that Standard Webhooks gives as an example', () => {
  const signature = signMessage(
    { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', timestamp: 1614265330, body: '{"test": 2432232314}' },
    'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  )

  expect(signature).toBe('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=')
})

test('a secret that is made is a good one', () => {
  expect(secretProblem(makeSecret())).toBeNull()
  expect(makeSecret()).not.toBe(makeSecret())
})

test.each(['', 'whsec_', 'secret', 'whsec_c2hvcnQ=', `whsec_${'!'.repeat(40)}`, `whsec_${'A'.repeat(120)}`])(
  'a secret that is none is refused: %s',
  (secret) => {
    expect(secretProblem(secret)).toContain('whsec_')
  },
)
