import { expect, test } from 'vitest'
import { hasSecretUrl, isOnlyReference, isSecretHeader, isSecretVariable } from './secret-rule.ts'

test.each([
  'Authorization',
  'proxy-authorization',
  'X-API-Key',
  'api-key',
  'Cookie',
  'x-auth-token',
  'x_vault_token',
  'X-Amz-Security-Token',
  'client.secret',
  'x-apikey',
])('the header %s holds a secret', (name) => expect(isSecretHeader(name)).toBe(true))

test.each(['accept', 'content-type', 'x-monkey', 'x-tokenizer', 'keyboard', 'author', 'Idempotency-Key'])(
  'the header %s holds no secret',
  (name) => expect(isSecretHeader(name)).toBe(false),
)

test.each([
  ['GITHUB_TOKEN', 'x'],
  ['PGPASSWORD', 'x'],
  ['AWS_SECRET_ACCESS_KEY', 'x'],
  ['DATABASE_URL', 'postgresql://ada:pa55@db.example.com/orders'],
])('the variable %s with %s holds a secret', (name, value) => {
  expect(isSecretVariable(name, value)).toBe(true)
})

test.each([
  ['PATH', '/usr/bin:/bin'],
  ['KEYBOARD', 'de'],
  ['DATABASE_URL', 'postgresql://db.example.com/orders?a=b:c@d'],
])('the variable %s with %s holds no secret', (name, value) => {
  expect(isSecretVariable(name, value)).toBe(false)
})

test('the address of a message to Slack is a secret, whatever sends it', () => {
  const url = 'https://HOOKS.slack.com/services/T/B/x'

  expect(hasSecretUrl({ type: 'webhook', url })).toBe(true)
  expect(hasSecretUrl({ type: 'slack', url: 'https://chat.example.com/hook/x', text: '' })).toBe(true)
  expect(hasSecretUrl({ type: 'webhook', url: 'https://example.com/hooks.slack.com' })).toBe(false)
})

test('a value that consists of secret references is not itself a secret', () => {
  expect(isOnlyReference('Bearer {{secret.TOKEN}}')).toBe(true)
  expect(isOnlyReference('{{secret.A}}{{secret.B}}')).toBe(true)
  expect(isOnlyReference('Bearer abc{{secret.TOKEN}}')).toBe(false)
  expect(isOnlyReference('Bearer abc')).toBe(false)
  expect(
    hasSecretUrl({ type: 'slack', url: 'https://hooks.slack.com/services/{{secret.SLACK}}', text: '' }),
  ).toBe(false)
  expect(
    hasSecretUrl({ type: 'slack', url: 'https://hooks.slack.com/services/T0/B0/{{secret.SLACK}}', text: '' }),
  ).toBe(false)
  expect(
    hasSecretUrl({ type: 'slack', url: 'https://hooks.slack.com/services/{{secret.SLACK}}/xyz', text: '' }),
  ).toBe(true)
  expect(
    hasSecretUrl({
      type: 'slack',
      url: 'https://hooks.slack.com/services/T0/xyz?a={{secret.SLACK}}',
      text: '',
    }),
  ).toBe(true)
  expect(
    hasSecretUrl({ type: 'slack', url: 'https://chat.example.com/hooks/{{secret.SLACK}}?key=x', text: '' }),
  ).toBe(true)
})
