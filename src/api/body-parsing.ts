import type { App } from './app.ts'

/**
 * Bodies are JSON and nothing else. An empty one counts as none: many clients announce JSON on every
 * request, also on those that need no body.
 */
export function parseJsonBodies(app: App): void {
  const parseJson = app.getDefaultJsonParser('error', 'error')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<string>('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body === '') done(null, undefined)
    else parseJson(request, body, done)
  })
}
