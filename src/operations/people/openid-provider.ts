/**
 * The OpenID Connect provider that people sign in with: authorization code flow with PKCE. Its metadata is fetched at the first
 * sign-in and cached for an hour, so a server starts even if its provider is down.
 */
import type { Configuration } from 'openid-client'
import type { SignInFailure } from '../../core/access/sign-in-failure.ts'
import type { Config } from '../../runtime/config/settings.ts'
import type { Identity } from '../../store/access/people.ts'
import { type Claims, groupsIn, identityOf } from './identity.ts'

/** The provider, and Belfry's registration as its client. */
export interface OpenIdSettings {
  readonly issuer: string
  readonly clientId: string
  /** Null for a public client. */
  readonly clientSecret: string | null
  readonly scopes: readonly string[]
  readonly groupsClaim: string
  /** The address to which the provider redirects after a sign-in. */
  readonly redirectUrl: string
}

/** What the browser stores while the person is at the provider, and sends when it comes back. */
export interface StartedSignIn {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
}

/** A failed sign-in. The message is for the log. */
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
/** Timeout of each request to the provider. */
const TIMEOUT_SECONDS = 10
/** Tolerated difference between the clocks of this machine and of the provider. */
const CLOCK_TOLERANCE_SECONDS = 60

export class OpenIdProvider {
  readonly #settings: OpenIdSettings
  #discovered: Discovered | undefined
  #discovering: Promise<Discovered> | undefined

  constructor(settings: OpenIdSettings) {
    this.#settings = settings
  }

  /** The issuer that identifies the people of this provider. */
  get issuer(): string {
    return canonicalIssuer(this.#settings.issuer)
  }

  get redirectUrl(): string {
    return this.#settings.redirectUrl
  }

  /** The provider's host, shown on the sign-in button. */
  get name(): string {
    return new URL(this.#settings.issuer).host
  }

  /** Returns the provider's address to redirect the browser to, and what `finish` needs when it comes back. */
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

  /** Returns the identity of a person who has come back from the provider, from the query of the redirect. */
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

  /** Adds the claims of the userinfo endpoint: many providers keep the ID token short. */
  async #completed(
    library: Library,
    configuration: Configuration,
    claims: Claims & { readonly sub: string },
    accessToken: string,
  ): Promise<Claims & { readonly sub: string }> {
    const isComplete = 'email' in claims && groupsIn(claims, this.#settings.groupsClaim).length > 0
    if (isComplete || configuration.serverMetadata().userinfo_endpoint === undefined) return claims
    const more = await library.fetchUserInfo(configuration, accessToken, claims.sub)
    // Signed claims take precedence over fetched ones. The address and whether it is verified come from the same source.
    const { email_verified: _, ...others } = more
    return 'email' in claims ? { ...others, ...claims } : { ...more, ...claims }
  }

  /** Sign-ins that arrive while the metadata is being fetched wait for the same response. */
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
      // The metadata of an hour ago is probably still correct.
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
      // The TLS connection proves the origin of the ID token; the signature proves it even if a proxy intercepts the
      // connection.
      library.enableNonRepudiationChecks(configuration)
      return { configuration, at: performance.now() }
    } catch (error) {
      throw explain(error, library)
    }
  }
}

/** Uses a method that the provider supports; if it names none, the header, which is the default of the specification. */
function clientAuthentication(library: Library, found: Configuration, clientSecret: string | null) {
  if (clientSecret === null) return library.None()
  const methods = found.serverMetadata().token_endpoint_auth_methods_supported ?? ['client_secret_basic']
  return methods.includes('client_secret_basic') || !methods.includes('client_secret_post')
    ? library.ClientSecretBasic(clientSecret)
    : library.ClientSecretPost(clientSecret)
}

/** The path of the redirect back from the provider, below the public URL. */
export const CALLBACK_PATH = '/auth/callback'

/** Returns the provider in the settings; null if they name none. */
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

/** Returns one spelling of an issuer, with or without a slash at its end. */
export const canonicalIssuer = (issuer: string): string => new URL(issuer).href

/** Error codes of the library that mean that the provider did not respond, or that something else did. */
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

/** Returns the messages of an error and of its causes. The provider's own error description is the most useful of them. */
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
