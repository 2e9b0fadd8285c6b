/**
 * How a definition is stored: without what stands for itself. Most tasks differ from the defaults in an
 * action and a schedule only, and each run of a one-off reads its definition once, so what is left out is
 * saved when the task is made, when it runs and whenever it is listed.
 */

import { DEFINITION_FIELDS, membersOf, TASK_DEFAULTS, unstoredOf } from '../../core/task/field-list.ts'
import type { TaskDefinition } from '../../core/task/task.ts'
import { DEFAULT_PROJECT_ID } from '../../core/values/default-project.ts'

/** What a member means that is not stored, of those that belong to a definition and are no field of a task. */
const UNSTORED_MEMBERS = { seed: null, projectId: DEFAULT_PROJECT_ID, traceparent: null, secrets: null }

/**
 * What a member means that is not stored. These values are part of the stored form and never change, also
 * when a later release gives new tasks other defaults: they would change tasks that exist.
 */
export const UNSTORED = {
  ...Object.fromEntries(
    DEFINITION_FIELDS.flatMap((field) => {
      const meant = unstoredOf(field)
      return meant === undefined ? [] : [[field.name, meant]]
    }),
  ),
  ...UNSTORED_MEMBERS,
} as unknown as Omit<TaskDefinition, 'action' | 'schedule' | 'anchorAt'>

/** What is stored of a definition, as JSON gives it back. */
export type StoredDefinition = Partial<TaskDefinition>

/** The text to store. */
export function storedForm(definition: TaskDefinition): string {
  const stored: Record<string, unknown> = {}
  for (const name in definition) {
    const value = definition[name as keyof TaskDefinition]
    if (!isUnstored(name, value)) stored[name] = value
  }
  return JSON.stringify(stored)
}

/** What is longer than this, in bytes, is told in brief too. Most definitions have some hundred. */
export const LARGE_BYTES = 4_096

/** Members of actions that say where they go; all others may be long. */
const BRIEF_MEMBERS = ['type', 'url', 'to', 'name', 'duration', 'command', 'file'] as const

/** A stored form without what is long, and which version it is of; null where the form itself is short. */
export function briefForm(stored: string, version: number): string | null {
  const bytes = stored.length <= LARGE_BYTES / 4 ? 0 : Buffer.byteLength(stored)
  if (bytes <= LARGE_BYTES) return null
  const { metadata: _, action, ...rest } = JSON.parse(stored)
  const members = BRIEF_MEMBERS.flatMap((name) => (name in action ? [[name, action[name]]] : []))
  return JSON.stringify({ ...rest, action: Object.fromEntries(members), version, bytes })
}

/**
 * The whole definition, from what was stored of it. Every run asks for one: the function is written out as source, one
 * member after the other, because a loop over the members costs ten times as much and spreading a hundred times.
 */
export const wholeDefinition = compiled()

function compiled(): (stored: StoredDefinition) => TaskDefinition {
  const fields = DEFINITION_FIELDS.map((field) => {
    const { name } = field
    const members = membersOf(field).map(
      ([member]) => `${member}: stored.${name}.${member} ?? unstored.${name}.${member}`,
    )
    if (members.length === 0) return memberSource(name)
    return `${name}: stored.${name} === undefined ? unstored.${name} : { ${members.join(', ')} }`
  })
  const others = ['anchorAt', ...Object.keys(UNSTORED_MEMBERS)].map(memberSource)
  const source = `return (stored) => ({ ${[...fields, ...others].join(', ')} })`
  return new Function('unstored', source)(UNSTORED)
}

function memberSource(name: string): string {
  return name in UNSTORED ? `${name}: stored.${name} ?? unstored.${name}` : `${name}: stored.${name}`
}

/** Rows with their definitions made whole. */
export const withDefinitions = <Row extends { readonly definition: TaskDefinition }>(
  rows: readonly Row[],
): Row[] => rows.map((row) => ({ ...row, definition: wholeDefinition(row.definition) }))

/** What a member means that is not stored. Objects are compared as JSON, except for the one that new tasks share. */
interface Meaning {
  readonly value: unknown
  readonly json: string | null
  readonly shared: unknown
}

/** Worked out once, not for each task. */
const MEANINGS = new Map(Object.entries(UNSTORED).map(([name, value]) => [name, meaningOf(name, value)]))

function meaningOf(name: string, value: unknown): Meaning {
  if (typeof value !== 'object' || value === null) return { value, json: null, shared: value }
  const json = JSON.stringify(value)
  const shared = (TASK_DEFAULTS as Record<string, unknown>)[name]
  return { value, json, shared: JSON.stringify(shared) === json ? shared : value }
}

function isUnstored(name: string, value: unknown): boolean {
  const meaning = MEANINGS.get(name)
  if (meaning === undefined) return false
  if (value === meaning.value || value === meaning.shared) return true
  return meaning.json !== null && JSON.stringify(value) === meaning.json
}
