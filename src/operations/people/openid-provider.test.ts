import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { CLIENT_ID, CLIENT_SECRET, startIdentityProvider } from '../../../test/support/identity-provider.ts'
import { OpenIdProvider, SignInError } from './openid-provider.ts'

const redirectUrl = 'http://localhost:3369/auth/callback'
const local = await startIdentityProvider(() => [redirectUrl])
const settings = {
  issuer: local.issuer,
  clientId: CLIENT_ID,
  clientSecret: CLIENT_SECRET,
  scopes: ['openid', 'profile', 'email', 'groups'],
  groupsClaim: 'groups',
  redirectUrl,
}
const provider = new OpenIdProvider(settings)
local.accounts['ada'] = {
  email: 'Ada@example.com',
  email_verified: true,
  name: 'Ada Lovelace',
  groups: ['dev', 'ops'],
}

const queryOf = (url: string) => new URL(url).search
const failureOf = async (work: Promise<unknown>) => {
  const error = await work.catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(SignInError)
  return (error as SignInError).failure
}

test('a user who signs in gets the identity from the claims of the provider', async () => {
  const { url, started } = await provider.begin()
  const returned = await local.signIn(url, 'ada')

  expect(await provider.finish(queryOf(returned), started)).toEqual({
    issuer: `${local.issuer}/`,
    subject: 'ada',
    email: 'ada@example.com',
    name: 'Ada Lovelace',
    groups: ['dev', 'ops'],
  })
  expect(new URL(url).searchParams.get('code_challenge_method')).toBe('S256')
})

test('a code is valid once, and only with the state, nonce and verifier of its request', async () => {
  const first = await provider.begin()
  const second = await provider.begin()
  const query = queryOf(await local.signIn(first.url, 'ada'))

  expect(await failureOf(provider.finish(query, second.started))).toBe('invalid_response')
  const other = { ...first.started, verifier: second.started.verifier }
  expect(await failureOf(provider.finish(query, other))).toBe('provider_refused')
  expect(await provider.finish(query, first.started)).toMatchObject({ subject: 'ada' })
  expect(await failureOf(provider.finish(query, first.started))).toBe('provider_refused')
  const again = await provider.begin()
  const fresh = queryOf(await local.signIn(again.url, 'ada'))
  expect(await failureOf(provider.finish(fresh, { ...again.started, nonce: 'other' }))).toBe(
    'invalid_response',
  )
})

test('an answer from another issuer or without parameters is invalid', async () => {
  const { started } = await provider.begin()
  const mixedUp = new URLSearchParams({ code: 'x', state: started.state, iss: 'https://evil.example' })

  expect(await failureOf(provider.finish(`?${mixedUp}`, started))).toBe('invalid_response')
  expect(await failureOf(provider.finish('', started))).toBe('invalid_response')
})

test('a sign-in that the provider denies fails with denied', async () => {
  const { started } = await provider.begin()
  const denied = new URLSearchParams({ error: 'access_denied', state: started.state, iss: local.issuer })

  expect(await failureOf(provider.finish(`?${denied}`, started))).toBe('denied')
})

test('a wrong client secret fails with provider_refused', async () => {
  const wrong = new OpenIdProvider({ ...settings, clientSecret: 'wrong' })
  const { url, started } = await wrong.begin()

  expect(await failureOf(wrong.finish(queryOf(await local.signIn(url, 'ada')), started))).toBe(
    'provider_refused',
  )
})

test('a provider that is down is unreachable, and is asked again later', async () => {
  let asked = 0
  const server = createServer((_, response) => {
    asked++
    response.writeHead(503).end('down')
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const down = new OpenIdProvider({ ...settings, issuer: `http://127.0.0.1:${port}` })

  const failures = await Promise.all([down.begin(), down.begin(), down.begin()].map(failureOf))
  expect(failures).toEqual(Array(3).fill('provider_unreachable'))
  expect(asked).toBe(1)
  server.removeAllListeners('request')
  server.on('request', (_, response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(
      JSON.stringify({
        issuer: `http://127.0.0.1:${port}`,
        authorization_endpoint: `http://127.0.0.1:${port}/authorize`,
      }),
    ),
  )
  expect((await down.begin()).url).toContain(`http://127.0.0.1:${port}/authorize?`)
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
  const gone = new OpenIdProvider({ ...settings, issuer: `http://127.0.0.1:${port}` })
  expect(await failureOf(gone.begin())).toBe('provider_unreachable')
})
