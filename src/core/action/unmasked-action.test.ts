import { expect, test } from 'vitest'
import type { ExecAction } from './action.ts'
import { maskedAction } from './masked-action.ts'
import { MASK } from './secret-rule.ts'
import { unmaskedAction } from './unmasked-action.ts'

const stored: ExecAction = {
  type: 'exec',
  command: '/usr/bin/backup',
  args: ['--all'],
  env: { TOKEN: 'hidden', KEPT_TOKEN: '{{secret.T}}', REGION: 'eu' },
}

test('the environment of a program is shown with masks, and can be sent back as it is shown', () => {
  const shown = maskedAction(stored)

  expect(shown).toMatchObject({ env: { TOKEN: MASK, KEPT_TOKEN: '{{secret.T}}', REGION: 'eu' } })
  expect(unmaskedAction(shown, stored)).toEqual({ value: stored, problems: [] })
  expect(unmaskedAction({ ...shown, network: true } as ExecAction, stored).problems).toEqual([])
})

test('a value that differs between two versions is marked as changed', () => {
  const after = { ...stored, env: { TOKEN: 'other' } }

  expect(maskedAction(after, stored)).toMatchObject({ env: { TOKEN: `${MASK} (changed)` } })
})

test.each([
  { command: '/bin/echo' },
  { args: ['--print-environment'] },
  { stdin: 'echo $TOKEN' },
  { files: [{ path: 'run.sh', content: 'echo $TOKEN' }] },
])('a hidden value is not kept when the program changes: %j', (change) => {
  const { problems } = unmaskedAction({ ...stored, env: { TOKEN: MASK }, ...change }, stored)

  expect(problems).toMatchObject([
    { pointer: '/action/env/TOKEN', detail: expect.stringContaining('program') },
  ])
})

test('a mask is refused where no value was hidden', () => {
  const env = { REGION: MASK, NEW_TOKEN: MASK, KEPT_TOKEN: MASK }

  const { problems } = unmaskedAction({ ...stored, env }, stored)

  expect(problems.map(({ pointer }) => pointer)).toEqual(
    Object.keys(env).map((name) => `/action/env/${name}`),
  )
  expect(unmaskedAction({ ...stored, env }, null).problems).toHaveLength(3)
})
