/**
 * How a definition is stored: without members that have a default value. Most tasks differ from the defaults only in an action
 * and a schedule, and each run of a one-off reads its definition once, so what is left out is saved when the task is created,
 * when it runs and whenever it is listed.
 */

import { DEFINITION_FIELDS, membersOf, TASK_DEFAULTS, unstoredOf } from '../../core/task/field-list.ts'
import type { TaskDefinition } from '../../core/task/task.ts'
import { DEFAULT_PROJECT_ID } from '../../core/values/default-project.ts'

/** Default values of members of a definition that are not fields of a task. */
const UNSTORED_MEMBERS = { seed: null, projectId: DEFAULT_PROJECT_ID, traceparent: null, secrets: null }

/**
 * The value of a member that is not stored. These values are part of the stored form and never change, even if a later release
 * gives new tasks other defaults: changing them would change existing tasks.
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

/** The stored form of a definition, parsed from JSON. */
export type StoredDefinition = Partial<TaskDefinition>

/** Returns the text to store. */
export function storedForm(definition: TaskDefinition): string {
  const stored: Record<string, unknown> = {}
  for (const name in definition) {
    const value = definition[name as keyof TaskDefinition]
    if (!isUnstored(name, value)) stored[name] = value
  }
  return JSON.stringify(stored)
}

/** A definition longer than this, in bytes, gets a brief form. Most definitions have some hundred bytes. */
export const LARGE_BYTES = 4_096

/** Members of actions that identify the destination or the program; all others may be long. */
const BRIEF_MEMBERS = ['type', 'url', 'to', 'name', 'duration', 'command', 'file'] as const

/** Returns a stored form without its long members, with its version and its length; null if the form itself is short. */
export function briefForm(stored: string, version: number): string | null {
  const bytes = stored.length <= LARGE_BYTES / 4 ? 0 : Buffer.byteLength(stored)
  if (bytes <= LARGE_BYTES) return null
  const { metadata: _, action, ...rest } = JSON.parse(stored)
  const members = BRIEF_MEMBERS.flatMap((name) => (name in action ? [[name, action[name]]] : []))
  return JSON.stringify({ ...rest, action: Object.fromEntries(members), version, bytes })
}

/**
 * Completes a definition from its stored form. Every run needs one: the function is generated as source, one member after the
 * other, because a loop over the members costs ten times as much and spreading a hundred times.
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

/** Returns rows with their definitions completed. */
export const withDefinitions = <Row extends { readonly definition: TaskDefinition }>(
  rows: readonly Row[],
): Row[] => rows.map((row) => ({ ...row, definition: wholeDefinition(row.definition) }))

/** The value of a member that is not stored. Objects are compared as JSON, except for the one that new tasks share. */
interface Meaning {
  readonly value: unknown
  readonly json: string | null
  readonly shared: unknown
}

/** Computed once, not for each task. */
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
