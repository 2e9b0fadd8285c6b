/**
 * The OpenID Connect provider that people sign in with: authorization code flow with PKCE. What it can do is asked when
 * somebody first signs in and remembered for an hour, so a provider that is down keeps no server from starting.
 */
import type { Configuration } from 'openid-client'
import type { SignInFailure } from '../../core/access/sign-in-failure.ts'
import type { Config } from '../../runtime/config/settings.ts'
import type { Identity } from '../../store/access/people.ts'
import { type Claims, groupsIn, identityOf } from './identity.ts'

/** The provider, and how it knows Belfry. */
export interface OpenIdSettings {
  readonly issuer: string
  readonly clientId: string
  /** Null: a public client. */
  readonly clientSecret: string | null
  readonly scopes: readonly string[]
  readonly groupsClaim: string
  /** Where the provider sends people back to. */
  readonly redirectUrl: string
}

/** What the browser keeps while somebody is at the provider, and shows when it comes back. */
export interface StartedSignIn {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
}

/** A sign-in that did not work. The message is for the log. */
export class SignInError extends Error {
  override readonly name = 'SignInError'
  readonly failure: SignInFailure

  constructor(failure: SignInFailure, message: string, options?: ErrorOptions) {
    super(message, options)
    this.failure = failure
  }
}

type Library = typeof import('openid-client')

interface Discovered {
  readonly configuration: Configuration
  readonly at: number
}

const REMEMBERED_MS = 3_600_000
/** For each request to the provider. */
const TIMEOUT_SECONDS = 10
/** Between the clocks of this machine and of the provider. */
const CLOCK_TOLERANCE_SECONDS = 60

export class OpenIdProvider {
  readonly #settings: OpenIdSettings
  #discovered: Discovered | undefined
  #discovering: Promise<Discovered> | undefined

  constructor(settings: OpenIdSettings) {
    this.#settings = settings
  }

  /** How people are recognised whom this provider describes. */
  get issuer(): string {
    return canonicalIssuer(this.#settings.issuer)
  }

  get redirectUrl(): string {
    return this.#settings.redirectUrl
  }

  /** What the button says: the host of the provider. */
  get name(): string {
    return new URL(this.#settings.issuer).host
  }

  /** The address at the provider to send somebody to, and what must be known when they are back. */
  async begin(): Promise<{ readonly url: string; readonly started: StartedSignIn }> {
    const library = await import('openid-client')
    const configuration = await this.#configuration(library)
    const started = {
      state: library.randomState(),
      nonce: library.randomNonce(),
      verifier: library.randomPKCECodeVerifier(),
    }
    const url = library.buildAuthorizationUrl(configuration, {
      redirect_uri: this.#settings.redirectUrl,
      scope: this.#settings.scopes.join(' '),
      state: started.state,
      nonce: started.nonce,
      code_challenge: await library.calculatePKCECodeChallenge(started.verifier),
      code_challenge_method: 'S256',
    })
    return { url: url.href, started }
  }

  /** Who has come back from the provider, by the query that it sent them back with. */
  async finish(query: string, { state, nonce, verifier }: StartedSignIn): Promise<Identity> {
    const library = await import('openid-client')
    const configuration = await this.#configuration(library)
    const returned = new URL(this.#settings.redirectUrl)
    returned.search = query
    try {
      const tokens = await library.authorizationCodeGrant(configuration, returned, {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: verifier,
        idTokenExpected: true,
      })
      const claims = tokens.claims()
      if (claims === undefined) throw new SignInError('invalid_response', 'the provider sent no ID token')
      const all = await this.#completed(library, configuration, claims, tokens.access_token)
      return identityOf(all, this.issuer, this.#settings.groupsClaim)
    } catch (error) {
      throw explain(error, library)
    }
  }

  /** Many providers keep the ID token short and say the rest where it is asked for. */
  async #completed(
    library: Library,
    configuration: Configuration,
    claims: Claims & { readonly sub: string },
    accessToken: string,
  ): Promise<Claims & { readonly sub: string }> {
    const isComplete = 'email' in claims && groupsIn(claims, this.#settings.groupsClaim).length > 0
    if (isComplete || configuration.serverMetadata().userinfo_endpoint === undefined) return claims
    const more = await library.fetchUserInfo(configuration, accessToken, claims.sub)
    // What is signed wins over what was fetched. An address and whether it was verified are said by the same source.
    const { email_verified: _, ...others } = more
    return 'email' in claims ? { ...others, ...claims } : { ...more, ...claims }
  }

  /** Everybody who signs in while it is being asked for waits for the same answer. */
  async #configuration(library: Library): Promise<Configuration> {
    const known = this.#discovered
    if (known && performance.now() - known.at < REMEMBERED_MS) return known.configuration
    this.#discovering ??= this.#discover(library).finally(() => {
      this.#discovering = undefined
    })
    try {
      this.#discovered = await this.#discovering
      return this.#discovered.configuration
    } catch (error) {
      // A provider that was fine an hour ago probably still is the same.
      if (known) return known.configuration
      throw error
    }
  }

  async #discover(library: Library): Promise<Discovered> {
    const { issuer, clientId, clientSecret } = this.#settings
    const url = new URL(issuer)
    const insecure = url.protocol === 'http:' ? [library.allowInsecureRequests] : []
    try {
      const found = await library.discovery(url, clientId, undefined, library.None(), {
        execute: insecure,
        timeout: TIMEOUT_SECONDS,
      })
      const configuration = new library.Configuration(
        found.serverMetadata(),
        clientId,
        { [library.clockTolerance]: CLOCK_TOLERANCE_SECONDS },
        clientAuthentication(library, found, clientSecret),
      )
      configuration.timeout = TIMEOUT_SECONDS
      for (const allow of insecure) allow(configuration)
      // The connection proves where the ID token comes from; the signature proves it even through a proxy that opens it.
      library.enableNonRepudiationChecks(configuration)
      return { configuration, at: performance.now() }
    } catch (error) {
      throw explain(error, library)
    }
  }
}

/** As the provider says; without a word, in the header, which the specification makes the default. */
function clientAuthentication(library: Library, found: Configuration, clientSecret: string | null) {
  if (clientSecret === null) return library.None()
  const methods = found.serverMetadata().token_endpoint_auth_methods_supported ?? ['client_secret_basic']
  return methods.includes('client_secret_basic') || !methods.includes('client_secret_post')
    ? library.ClientSecretBasic(clientSecret)
    : library.ClientSecretPost(clientSecret)
}

/** Where the provider sends people back to, below the address that they use. */
export const CALLBACK_PATH = '/auth/callback'

/** The provider that the settings name; null without one. */
export function providerFrom(config: Config): OpenIdProvider | null {
  const { oidcIssuer, oidcClientId, publicUrl } = config
  if (oidcIssuer === null || oidcClientId === null || publicUrl === null) return null
  return new OpenIdProvider({
    issuer: oidcIssuer,
    clientId: oidcClientId,
    clientSecret: config.oidcClientSecret,
    scopes: config.oidcScopes,
    groupsClaim: config.oidcGroupsClaim,
    redirectUrl: publicUrl + CALLBACK_PATH,
  })
}

/** One spelling of an issuer, whatever slash was typed at its end. */
export const canonicalIssuer = (issuer: string): string => new URL(issuer).href

/** Codes of the library for answers that are none, because something else answers, or nothing. */
const UNREACHABLE: ReadonlySet<unknown> = new Set([
  'OAUTH_TIMEOUT',
  'OAUTH_RESPONSE_IS_NOT_CONFORM',
  'OAUTH_RESPONSE_IS_NOT_JSON',
])

function explain(error: unknown, library: Library): SignInError {
  if (error instanceof SignInError) return error
  const message = reasonsOf(error)
  const options = { cause: error }
  if (error instanceof library.AuthorizationResponseError) return new SignInError('denied', message, options)
  if (error instanceof library.ResponseBodyError || error instanceof library.WWWAuthenticateChallengeError)
    return new SignInError('provider_refused', message, options)
  const code = (error as { code?: unknown } | null)?.code
  const isUnreachable = UNREACHABLE.has(code) || (error instanceof TypeError && error.cause !== undefined)
  return new SignInError(isUnreachable ? 'provider_unreachable' : 'invalid_response', message, options)
}

/** The messages of an error and of what caused it; a refusal's own words are the most useful of them. */
function reasonsOf(error: unknown): string {
  const reasons: string[] = []
  let inner: unknown = error
  while (inner instanceof Error && reasons.length < MAX_REASONS) {
    const { error: code, error_description: words } = inner as {
      error?: unknown
      error_description?: unknown
    }
    reasons.push([inner.message, code, words].filter((part) => typeof part === 'string').join(': '))
    inner = inner.cause
  }
  return reasons.join(', because ')
}

const MAX_REASONS = 4
