import { expect, test } from 'vitest'
import {
  EmailAction,
  HandlerAction,
  HttpAction,
  PingAction,
  SlackAction,
  SleepAction,
  WebhookAction,
} from '../../src/operations/tasks/action-schema.ts'
import { ExecAction } from '../../src/operations/tasks/exec-schema.ts'
import { emptyDraft } from '../../web/screens/task-form/draft.ts'

test('the form of the dashboard has a field for every member of every action', () => {
  const schemas = [
    PingAction,
    WebhookAction,
    HttpAction,
    SlackAction,
    EmailAction,
    SleepAction,
    HandlerAction,
    ExecAction,
  ]
  const fields = Object.keys(emptyDraft())
  const fieldOf: Readonly<Record<string, string>> = { text: 'message', type: 'action', name: 'handler' }

  const members = schemas.flatMap(({ shape }) => Object.keys(shape))

  expect(
    members.map((member) => fieldOf[member] ?? member).filter((field) => !fields.includes(field)),
  ).toEqual([])
})
