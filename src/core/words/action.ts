import { type Action, targetOfAction } from '../action/action.ts'
import { readUrl } from '../values/read-url.ts'

/** What a task does, in one line: `POST https://example.com/hook`. */
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
      // Whoever knows the whole address can write there.
      return `message to ${readUrl(action.url)?.host ?? '…'}`
    case 'email':
      return `email to ${targetOfAction(action) || '…'}`
  }
}
