/** Declares two fields that no other file knows of. Whoever imports this first has a program that has them. */
import type { TaskField } from '../../../src/core/task/field-kinds.ts'
import { TASK_FIELDS } from '../../../src/core/task/fields.ts'

const colour: TaskField = {
  kind: { type: 'choice', of: ['green', 'red'], words: { green: 'green', red: 'red' } },
  default: 'green',
  unstored: 'green',
  about: 'where',
  doc: 'The colour of the task.',
  flag: { name: '--colour', takes: 'colour', help: 'The colour of the task' },
  label: 'Colour',
}

const budget: TaskField = {
  kind: {
    type: 'object',
    members: {
      calls: {
        kind: { type: 'integer', min: 1, max: 10 },
        default: 5,
        unstored: 5,
        doc: 'How many calls.',
        flag: { name: '--budget-calls', takes: 'n', help: 'Calls' },
        label: 'Calls',
      },
      per: {
        kind: { type: 'duration', min: '1s', max: '1h' },
        default: '1m',
        unstored: '1m',
        doc: 'In how long.',
        label: 'In how long',
      },
    },
  },
  about: 'trouble',
  doc: 'How much a task may use.',
  label: 'Budget',
}

Object.assign(TASK_FIELDS, { colour, budget })
