/** Converts the action of a task to and from the fields of the form. Every member of every action has a field. */
import type { Action } from '../../api/wire.ts'
import { bodyText, given, jsonOrText, jsonText, numberOf } from '../../components/typed.ts'
import type { Draft } from './draft.ts'
import { programFields, programOf } from './draft-program.ts'

export function actionFields(action: Action): Partial<Draft> {
  switch (action.type) {
    case 'sleep':
      return { action: 'sleep', duration: action.duration }
    case 'handler':
      return { action: 'handler', handler: action.name, payload: jsonText(action.payload) }
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
        followRedirects: String(action.followRedirects ?? ''),
        connectTimeout: action.connectTimeout ?? '',
        firstByteTimeout: action.firstByteTimeout ?? '',
      }
    case 'slack':
      return {
        action: 'slack',
        url: action.url,
        message: action.text ?? '',
        blocks: jsonText(action.blocks),
      }
    case 'email':
      return {
        action: 'email',
        to: addressLines(action.to),
        cc: addressLines(action.cc),
        bcc: addressLines(action.bcc),
        from: action.from ?? '',
        replyTo: action.replyTo ?? '',
        subject: action.subject,
        message: action.text ?? '',
        html: action.html ?? '',
      }
    case 'exec':
      return programFields(action)
  }
}

type Addresses = string | readonly string[]

const addressLines = (addresses: Addresses = ''): string =>
  typeof addresses === 'string' ? addresses : addresses.join('\n')

/** Addresses are separated by commas, semicolons or line breaks; a quoted name may contain any of them. */
function addressesOf(text: string): Addresses {
  const parts = text.match(/(?:"(?:\\.|[^"\\])*"|[^,;\n])+/g) ?? []
  const addresses = parts.flatMap((address) => address.trim() || [])
  return addresses.length === 1 ? (addresses[0] ?? '') : addresses
}

/** A member with the addresses, or nothing if there are none. */
const copiesTo = (name: 'cc' | 'bcc', text: string) =>
  text.trim() === '' ? {} : { [name]: addressesOf(text) }

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
        ...redirectsOf(draft.followRedirects),
        ...given('connectTimeout', draft.connectTimeout),
        ...given('firstByteTimeout', draft.firstByteTimeout),
      }
    case 'slack':
      return { type: 'slack', url, ...messageOf(draft), ...blocksOf(draft.blocks) }
    case 'email':
      return {
        type: 'email',
        to: addressesOf(draft.to),
        ...copiesTo('cc', draft.cc),
        ...copiesTo('bcc', draft.bcc),
        ...given('from', draft.from),
        ...given('replyTo', draft.replyTo),
        subject: draft.subject.trim(),
        ...messageOf(draft),
        ...(draft.html.trim() === '' ? {} : { html: draft.html }),
      }
    case 'exec':
      return programOf(draft)
  }
}

const messageOf = ({ message }: Draft) => (message.trim() === '' ? {} : { text: message })

/** Text that is not JSON is sent as typed, so that the API reports what is wrong. */
const blocksOf = (text: string): { blocks?: readonly unknown[] } =>
  text.trim() === '' ? {} : { blocks: jsonOrText(text) as readonly unknown[] }

const redirectsOf = (text: string): { followRedirects?: number } =>
  text.trim() === '' ? {} : { followRedirects: numberOf(text) }

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
