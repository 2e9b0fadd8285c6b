/** For each kind of field a value that is valid and no default. */
import type { Kind, Setting } from '../../src/core/task/field-kinds.ts'
import { FIELD_LIST, membersOf } from '../../src/core/task/field-list.ts'

function sample(kind: Kind): unknown {
  switch (kind.type) {
    case 'text':
    case 'pattern':
      return 'sample'
    case 'duration':
      return '5m'
    case 'rate':
      return '20/m'
    case 'instant':
      return '2099-01-01T00:00:00.000Z'
    case 'integer':
    case 'number':
      return kind.min + 1
    case 'choice':
      return kind.of.at(-1)
    case 'boolean':
      return false
    case 'list':
      return ['sample']
    case 'json':
      return { sample: true }
    case 'object':
      return Object.fromEntries(membersOf({ kind }).map(([name, member]) => [name, sampleOf(member)]))
    case 'action':
      return { type: 'sleep', duration: '5s' }
    case 'schedule':
      return { type: 'every', interval: '7m' }
  }
}

const sampleOf = ({ kind }: Setting): unknown => sample(kind)

/** A task with a sample in every field. */
export const SAMPLES: Readonly<Record<string, unknown>> = Object.fromEntries(
  FIELD_LIST.map((field) => [field.name, sampleOf(field)]),
)
