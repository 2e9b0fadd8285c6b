/** Tasks as JSON text, for answers that hold thousands of them. */
import { TASK_DEFAULTS } from '../../../core/task/field-list.ts'
import type { TaskRow } from '../../../store/tasks/tasks.ts'
import { BLANK, presentTask } from './present.ts'
import type { Task } from './schemas.ts'

type Values = Readonly<Record<string, unknown>>

/** What most new tasks have in common: the defaults, which they share, and what nobody knows or did yet. */
const COMMON: Values = { ...BLANK, ...TASK_DEFAULTS }

/** What most tasks have of their own. Of the first ones the text needs no escapes: they are ids, instants and words of ours. */
const PLAIN = ['id', 'type', 'nextFireAt', 'nextFireLocal', 'createdAt', 'updatedAt']
const OWN = [...PLAIN, 'payload', 'action', 'schedule', 'tags']

/** The same text as `JSON.stringify(presentTask(row))`, for less: what tasks have in common was written before. */
export const writeTask = (row: TaskRow): string => written(presentTask(row))

const written = compiled()

/** Written out as source: members that stand side by side and are what they mostly are take one comparison each and one text. */
function compiled(): (task: Task) => string {
  const texts: string[] = []
  const pieces = runsOf(Object.keys(BLANK)).map((names) => {
    const own = names
      .map((name) => `${PLAIN.includes(name) ? 'plain' : 'member'}('${name}', task.${name})`)
      .join(' + ')
    if (names.some((name) => OWN.includes(name))) return own
    texts.push(names.map((name) => member(name, COMMON[name])).join(''))
    const areCommon = names.map((name) => `task.${name} === common.${name}`).join(' && ')
    return `(${areCommon} ? texts[${texts.length - 1}] : ${own})`
  })
  const source = `return (task) => "{" + (${pieces.join(' + ')}).slice(1) + "}"`
  return new Function('common', 'texts', 'plain', 'member', source)(COMMON, texts, plain, member)
}

/** Names in their order: each of its own alone, the others as many together as stand side by side. */
function runsOf(names: readonly string[]): string[][] {
  const runs: string[][] = []
  for (const [i, name] of names.entries()) {
    const isAlone = OWN.includes(name) || OWN.includes(names[i - 1] ?? name)
    if (isAlone) runs.push([name])
    else runs.at(-1)?.push(name)
  }
  return runs
}

function plain(name: string, value: string | null): string {
  return value === null ? `,"${name}":null` : `,"${name}":"${value}"`
}

function member(name: string, value: unknown): string {
  return value === undefined ? '' : `,"${name}":${JSON.stringify(value)}`
}
