import { expect, test } from 'vitest'
import type { ExecAction } from '../../../src/core/action/action.ts'
import { emptyDraft } from './draft.ts'
import { programFields, programOf } from './draft-program.ts'

test.each<ExecAction>([
  { type: 'exec', file: '01a1edd2-51ed-7000-96b1-dede780620bd' },
  {
    type: 'exec',
    command: '/usr/bin/rsync',
    args: ['-a', '--exclude=a b', '', ' spaced ', '"quoted"', 'two\nlines'],
    env: { TOKEN: '{{secret.TOKEN}}', EMPTY: '', EQUALS: 'a=b', LINES: 'a\nb' },
    stdin: { page: 1 },
    files: [{ path: 'config.json', content: '{}' }],
    network: true,
    limits: { memory: '256MiB' },
    exitCodes: { fail: [2] },
  },
  { type: 'exec', command: '/bin/cat', stdin: 'plain text\n' },
])('the form keeps a program unchanged', (action) => {
  expect(programOf({ ...emptyDraft(), ...programFields(action) })).toEqual(action)
})
