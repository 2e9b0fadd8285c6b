/** The action of a task as fields of the form, and back. What the form has no field for is kept as it was. */
import type { Action } from '../../api/wire.ts'
import { jsonOrText } from '../../components/typed.ts'
import type { Draft } from './draft.ts'

export const actionFields = (action: Action): Partial<Draft> => ({
  ...shownFields(action),
  keptOfAction: keptOf(action),
})

function shownFields(action: Action): Partial<Draft> {
  switch (action.type) {
    case 'sleep':
      return { action: 'sleep', duration: action.duration }
    case 'handler':
      return { action: 'handler', handler: action.name, payload: payloadText(action.payload) }
    case 'ping':
      return { action: 'ping', url: action.url }
    case 'webhook':
      return { action: 'webhook', url: action.url, body: bodyText(action.body) }
    case 'http':
      return {
        action: 'http',
        url: action.url,
        method: action.method,
        headers: Object.entries(action.headers ?? {})
          .map(([name, value]) => `${name}: ${value}`)
          .join('\n'),
        body: bodyText(action.body),
        expect: (action.expect ?? []).join(', '),
      }
    case 'slack':
      return { action: 'slack', url: action.url, message: action.text ?? '' }
    case 'email':
      return {
        action: 'email',
        to: typeof action.to === 'string' ? action.to : action.to.join('\n'),
        subject: action.subject,
        message: action.text ?? '',
      }
  }
}

const payloadText = (payload: unknown): string =>
  payload === undefined ? '' : JSON.stringify(payload, null, 2)

/** Members that have a field in the form, over all actions. */
const SHOWN = [
  'url',
  'method',
  'headers',
  'body',
  'expect',
  'duration',
  'to',
  'subject',
  'text',
  'name',
  'payload',
]

function keptOf(action: Action): string {
  const kept = Object.entries(action).filter(([name]) => !SHOWN.includes(name))
  return kept.length > 1 ? JSON.stringify(Object.fromEntries(kept)) : ''
}

/** What the action had that the form does not show, as long as it is of the same type. */
function keptFor({ action, keptOfAction }: Draft): object {
  const kept = keptOfAction === '' ? {} : (JSON.parse(keptOfAction) as { type?: string })
  return 'type' in kept && kept.type === action ? kept : {}
}

const bodyText = (body: unknown): string => {
  if (body === undefined) return ''
  return typeof body === 'string' ? body : JSON.stringify(body, null, 2)
}

export function actionOf(draft: Draft): Action {
  const url = draft.url.trim()
  const body = draft.body.trim() === '' ? {} : { body: jsonOrText(draft.body) }
  switch (draft.action) {
    case 'sleep':
      return { type: 'sleep', duration: draft.duration.trim() }
    case 'handler': {
      const payload = draft.payload.trim() === '' ? {} : { payload: jsonOrText(draft.payload) }
      return { type: 'handler', name: draft.handler.trim(), ...payload }
    }
    case 'ping':
      return { type: 'ping', url }
    case 'webhook':
      return { type: 'webhook', url, ...body }
    case 'http':
      return {
        type: 'http',
        url,
        method: draft.method,
        ...headersOf(draft.headers),
        ...body,
        ...expectOf(draft.expect),
        ...keptFor(draft),
      }
    case 'slack':
      return { type: 'slack', url, ...messageOf(draft), ...keptFor(draft) }
    case 'email': {
      const to = draft.to.split(/[,;\n]/).flatMap((address) => address.trim() || [])
      const recipients = to.length === 1 ? (to[0] ?? '') : to
      return {
        type: 'email',
        to: recipients,
        subject: draft.subject.trim(),
        ...messageOf(draft),
        ...keptFor(draft),
      }
    }
  }
}

const messageOf = ({ message }: Draft) => (message.trim() === '' ? {} : { text: message })

function headersOf(text: string): { headers?: Record<string, string> } {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  if (lines.length === 0) return {}
  const headers = lines.map((line) => {
    const colon = line.indexOf(':')
    return colon < 0 ? [line.trim(), ''] : [line.slice(0, colon).trim(), line.slice(colon + 1).trim()]
  })
  return { headers: Object.fromEntries(headers) }
}

function expectOf(text: string): { expect?: (string | number)[] } {
  const statuses = text.split(/[\s,]+/).filter((status) => status !== '')
  if (statuses.length === 0) return {}
  return { expect: statuses.map((status) => (/^\d+$/.test(status) ? Number(status) : status)) }
}
