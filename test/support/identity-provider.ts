/** A real OpenID Connect provider on this machine, with the people that a test wants. */
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import Provider from 'oidc-provider'
import { whenDone } from './cleanup.ts'

export const CLIENT_ID = 'belfry'
export const CLIENT_SECRET = 'a-secret-of-the-client'

/** What the provider says about somebody, besides their subject, which is their login. */
export interface Account {
  readonly email?: string
  readonly email_verified?: boolean
  readonly name?: string
  groups?: readonly string[]
}

export interface IdentityProvider {
  readonly issuer: string
  /** Accounts by login. Tests may change them. */
  readonly accounts: Record<string, Account>
  /** Flags that make a node sign people in here. */
  flagsFor(publicUrl: string): Record<string, string>
  /**
   * Signs a person in as a browser would, from the address that Belfry redirects to; returns the address that the provider
   * redirects back to.
   */
  signIn(url: string, login: string): Promise<string>
  stop(): Promise<void>
}

export async function startIdentityProvider(
  redirectUrls: () => readonly string[],
): Promise<IdentityProvider> {
  const accounts: Record<string, Account> = {}
  const server = createServer()
  await listen(server)
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  let callback: ReturnType<Provider['callback']> | undefined
  // The addresses of nodes are known only once they run, so the provider is made when it is first asked.
  server.on('request', (request, response) => {
    callback ??= providerAt(issuer, redirectUrls(), accounts).callback()
    callback(request, response)
  })
  const stop = async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  whenDone(stop)
  return {
    issuer,
    accounts,
    flagsFor: (publicUrl) => ({
      publicUrl,
      oidcIssuer: issuer,
      oidcClientId: CLIENT_ID,
      oidcClientSecret: CLIENT_SECRET,
      oidcScopes: 'openid,profile,email,groups',
    }),
    signIn: (url, login) => signIn(issuer, url, login),
    stop,
  }
}

const listen = (server: Server) =>
  new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })

function providerAt(
  issuer: string,
  redirectUrls: readonly string[],
  accounts: Record<string, Account>,
): Provider {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return new Provider(issuer, {
    clients: [
      {
        client_id: CLIENT_ID,
        client_secret: CLIENT_SECRET,
        redirect_uris: redirectUrls,
        grant_types: ['authorization_code'],
        response_types: ['code'],
        id_token_signed_response_alg: 'ES256',
      },
    ],
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), alg: 'ES256', use: 'sig' }] },
    cookies: { keys: [randomBytes(16).toString('hex')] },
    pkce: { required: () => true },
    scopes: ['openid', 'groups'],
    claims: {
      openid: ['sub'],
      profile: ['name'],
      email: ['email', 'email_verified'],
      groups: ['groups'],
    },
    findAccount: (_: unknown, id: string) => ({
      accountId: id,
      claims: () => ({ sub: id, ...accounts[id] }),
    }),
    ttl: {
      Interaction: 600,
      Session: 600,
      Grant: 600,
      AccessToken: 600,
      IdToken: 600,
      AuthorizationCode: 60,
    },
  })
}

const MAX_STEPS = 12

/** Fills in the forms of the provider until it sends the browser away again. */
async function signIn(issuer: string, start: string, login: string): Promise<string> {
  const cookies = new Map<string, string>()
  let url = start
  let form: URLSearchParams | null = null
  for (let step = 0; step < MAX_STEPS; step++) {
    const answer: Response = await fetch(url, {
      redirect: 'manual',
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
      ...(form ? { method: 'POST', body: form } : {}),
    })
    for (const cookie of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
      cookies.set(name, value)
    }
    const location = answer.headers.get('location')
    form = null
    if (location !== null) {
      url = new URL(location, url).href
      if (!url.startsWith(issuer)) return url
      continue
    }
    const page = await answer.text()
    const prompt = /name="prompt" value="(\w+)"/.exec(page)?.[1]
    if (prompt === undefined)
      throw new Error(`the provider shows no form: ${answer.status} ${page.slice(0, 500)}`)
    url = /action="([^"]+)"/.exec(page)?.[1] ?? url
    form = new URLSearchParams(prompt === 'login' ? { prompt, login, password: 'any' } : { prompt })
  }
  throw new Error('the provider never sends the browser back')
}
