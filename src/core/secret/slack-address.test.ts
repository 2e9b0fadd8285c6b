import { expect, test } from 'vitest'
import { filledAction } from './filled-action.ts'
import { mayHold, tokenlessAction } from './slack-address.ts'

const TOKEN = 'Xa1bC2dE3fG4hI5jK6lM7nO8'

const slack = (url: string) => ({ type: 'slack', url, text: 'hello' }) as const

test.each([
  [`https://hooks.slack.com/services/T00000000/B00000000/${TOKEN}`, 1],
  [`https://hooks.slack.com/triggers/T0123/1234567890/${TOKEN}`, 1],
  [`https://chat.example.com:8443/hooks/${TOKEN}`, 1],
  [`https://discord.com/api/webhooks/123456789012345678/${TOKEN}-_.~/slack`, 2],
  [`https://zulip.example.com/api/v1/external/slack_incoming?api_key=${TOKEN}&stream=ops`, 1],
  [`https://chat.example.com?${TOKEN}`, 1],
  [`https://chat.example.com/{{secret.A}}/${TOKEN}/${TOKEN}#top`, 1],
])('the tokens of %s are taken out, and put back as they were', (url, count) => {
  const found = tokenlessAction(slack(url))

  expect(found?.tokens.size).toBe(count)
  expect(JSON.stringify(found?.value)).not.toContain(TOKEN)
  expect(new URL(found?.value.type === 'slack' ? found.value.url : '').origin).toBe(new URL(url).origin)
  const valueFor = (name: string) => found?.tokens.get(name) ?? `{{secret.${name}}}`
  const filled = found && filledAction(found.value, valueFor)
  expect(JSON.stringify(filled).replaceAll(encodeURIComponent('{{secret.A}}'), '{{secret.A}}')).toBe(
    JSON.stringify(slack(url)),
  )
  expect(found && tokenlessAction(found.value)).toBeNull()
})

test.each([
  'https://hooks.slack.com/services/T00000000/B00000000/short',
  'https://a-host-with-a-long-name.example.com/hook',
  'https://hooks.slack.com/services/T0/B0/{{secret.SLACK_HOOK_OF_OPERATIONS}}',
  'https://chat.example.com/hooks/with%2Fan-escaped-character',
  'https://chat.example.com/••••••',
])('%s stays as it is', (url) => {
  expect(tokenlessAction(slack(url))).toBeNull()
})

test('tokens are removed from messages to Slack only', () => {
  expect(tokenlessAction({ type: 'ping', url: `https://example.com/${TOKEN}` })).toBeNull()
})

test('a name that is derived from a token is reserved for that token', () => {
  const [name = ''] = tokenlessAction(slack(`https://example.com/${TOKEN}`))?.tokens.keys() ?? []

  expect(name).toMatch(/^SLACK_[0-9A-F]{16}$/)
  expect(mayHold(name, TOKEN)).toBe(true)
  expect(mayHold(name, 'another value')).toBe(false)
  expect(mayHold('SLACK_HOOK', 'any value')).toBe(true)
})
