import { type Action, targetOfAction } from '../action/action.ts'
import { readUrl } from '../values/read-url.ts'

/** Describes an action in one line: `POST https://example.com/hook`. */
export function actionWords(action: Action): string {
  switch (action.type) {
    case 'sleep':
      return `sleep ${action.duration}`
    case 'ping':
      return `GET ${action.url || '…'}`
    case 'webhook':
      return `POST ${action.url || '…'}`
    case 'handler':
      return `handler ${action.name || '…'}`
    case 'exec':
      return action.command === undefined
        ? `run file ${action.file || '…'}`
        : ['run', action.command, ...(action.args ?? [])].join(' ')
    case 'http':
      return `${action.method} ${action.url || '…'}`
    case 'slack':
      // Only the host is shown, because anyone who knows the whole URL can write to the channel.
      return `message to ${readUrl(action.url)?.host ?? '…'}`
    case 'email':
      return `email to ${targetOfAction(action) || '…'}`
  }
}
