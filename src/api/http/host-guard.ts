import { Refusal } from '../../core/errors.ts'
import type { App } from '../app.ts'

const LOOPBACK_HOST = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/i

/**
 * Protects an open server against DNS rebinding: a page on the internet can make a browser on this machine send requests to a
 * name that resolves to 127.0.0.1. Such requests have that name as Host, and an open server must reject them. The host names in
 * headers of proxies are ignored, since such a page could set them too. Only servers on loopback are open; all others need a
 * key, which a page under another name cannot have.
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
