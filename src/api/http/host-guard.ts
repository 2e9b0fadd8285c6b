import { Refusal } from '../../core/errors.ts'
import type { App } from '../app.ts'

const LOOPBACK_HOST = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/i

/**
 * A page on the internet can make a browser on this machine send requests to a name that resolves to 127.0.0.1. Such
 * requests carry that name as Host; an open server must not answer them. What a proxy says about the name that it was
 * asked for is not looked at: such a page could say the same. Beyond loopback no server is open, and a key is
 * nothing that a page under another name could have.
 */
export function guardHost(app: App, publicUrl: string | null): void {
  const publicHost = publicUrl === null ? null : new URL(publicUrl).host
  app.addHook('onRequest', async (request) => {
    const { host } = request.headers
    if (host !== undefined && (LOOPBACK_HOST.test(host) || host.toLowerCase() === publicHost)) return
    throw new Refusal(
      'misdirected_request',
      'This server accepts requests from its own machine only. Address it as localhost or 127.0.0.1. ' +
        'If a proxy in front of it has another name, start Belfry with --public-url.',
    )
  })
}
