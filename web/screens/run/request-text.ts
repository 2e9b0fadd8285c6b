/** Formats the request of a run as text. The server masks secrets. */
import type { Action } from '../../api/wire.ts'

/** Headers and body as sent, without what Belfry adds. */
export function requestText(action: Action): string {
  if (action.type === 'sleep' || action.type === 'ping') return ''
  if (action.type === 'handler')
    return action.payload === undefined ? '' : JSON.stringify(action.payload, null, 2)
  if (action.type === 'slack') return JSON.stringify({ text: action.text, blocks: action.blocks }, null, 2)
  if (action.type === 'email' || action.type === 'exec') {
    const { type: _, ...message } = action
    return JSON.stringify(message, null, 2)
  }
  const headers = action.type === 'http' ? Object.entries(action.headers ?? {}) : []
  const body = typeof action.body === 'string' ? action.body : JSON.stringify(action.body, null, 2)
  return [headers.map(([name, value]) => `${name}: ${value}`).join('\n'), body ?? '']
    .filter((part) => part !== '')
    .join('\n\n')
}
