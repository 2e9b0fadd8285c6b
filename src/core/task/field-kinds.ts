/**
 * Declares what a field of a task can hold, as plain data from which validation, the command line, the dashboard and the
 * reference page are derived. The types of values follow from it.
 */
import type { Action } from '../action/action.ts'
import type { Schedule } from '../schedule/schedule.ts'

/** The shape of a value, and its bounds. */
export type Kind =
  | TextKind
  | PatternKind
  | { readonly type: 'duration'; readonly min: string; readonly max: string }
  | { readonly type: 'instant' }
  /** How often something may start, such as `10/s`. */
  | { readonly type: 'rate' }
  | { readonly type: 'integer' | 'number'; readonly min: number; readonly max: number }
  | ChoiceKind
  | BooleanKind
  | ListKind
  /** A JSON object of at most `max` characters. */
  | { readonly type: 'json'; readonly max: number }
  | { readonly type: 'object'; readonly members: Readonly<Record<string, Setting>> }
  | { readonly type: 'action' }
  | { readonly type: 'schedule' }

/** Text of 1 to `max` characters, except for certain values. */
export interface TextKind {
  readonly type: 'text'
  readonly max: number
  readonly except?: { readonly values: readonly string[]; readonly rule: string }
}

/** Text that matches; `rule` completes the sentence "the field …". */
export interface PatternKind {
  readonly type: 'pattern'
  readonly pattern: RegExp
  readonly rule: string
}

/** A list of distinct texts: at most `items`, each of at most `max` characters. `rule` says which of them are refused. */
export interface ListKind {
  readonly type: 'list'
  readonly items: number
  readonly max: number
  readonly refused?: { isRefused(text: string): boolean; readonly rule: string }
}

/** One of several words, with the dashboard's label of each. */
export interface ChoiceKind {
  readonly type: 'choice'
  readonly of: readonly string[]
  readonly words: Readonly<Record<string, string>>
}

/** True or false, with the dashboard's label of each. */
export interface BooleanKind {
  readonly type: 'boolean'
  readonly words: { readonly true: string; readonly false: string }
}

/** A command-line flag. */
export interface Flag {
  readonly name: string
  /** The placeholder of its value in the help. */
  readonly takes: string
  readonly help: string
  /** Rarely needed: the help only names it, and docs/reference/commands.md explains it. */
  readonly isRare?: true
}

/** The properties of a field, and of each member of a field that is an object. */
export interface Setting {
  readonly kind: Kind
  /** Whether null is allowed, which is then the default. */
  readonly isNullable?: true
  /** The value for a new task that does not set the field. */
  readonly default?: unknown
  /**
   * The value for a stored definition without the field. It is part of the stored form and never changes, even if new tasks get
   * another default, because that would change existing tasks.
   */
  readonly unstored?: unknown
  /** For the reference page and the OpenAPI document. */
  readonly doc: string
  readonly flag?: Flag
  /** The label in the dashboard's form. */
  readonly label: string
  readonly hint?: string
  readonly placeholder?: string
}

/** A field of a task. */
export interface TaskField extends Setting {
  /** Where the field is stored: in the definition unless this is set. Columns can be searched. */
  readonly keptIn?: 'column'
  /** Whether an edit of the field may change when the task is due. */
  readonly isTiming?: true
  /** The page of docs/reference that explains the field further. */
  readonly page?: string
  /** The section of the form and of the help that lists the field. */
  readonly about: 'identity' | 'what' | 'when' | 'trouble' | 'where'
}

type KindValue<K extends Kind> = K extends { readonly type: 'integer' | 'number' }
  ? number
  : K extends { readonly type: 'boolean' }
    ? boolean
    : K extends { readonly type: 'choice'; readonly of: readonly (infer Word)[] }
      ? Word
      : K extends { readonly type: 'list' }
        ? readonly string[]
        : K extends { readonly type: 'json' }
          ? Readonly<Record<string, unknown>>
          : K extends { readonly type: 'object'; readonly members: infer Members }
            ? { readonly [Name in keyof Members]: ValueOf<Members[Name]> }
            : K extends { readonly type: 'action' }
              ? Action
              : K extends { readonly type: 'schedule' }
                ? Schedule
                : string

type OrNull<S> = S extends { readonly isNullable: true } ? null : never

/** The type of a field in a complete task. */
export type ValueOf<S> = S extends { readonly kind: infer K extends Kind } ? KindValue<K> | OrNull<S> : never

/** A schedule as input: words are parsed, and a list of triggers is combined. */
export type GivenSchedule =
  | Schedule
  | readonly Schedule[]
  | string
  | { readonly type: 'words'; readonly words: string; readonly timezone: string }

/** The type of a field as input: of an object, any of its members. */
export type GivenValue<S> = S extends {
  readonly kind: { readonly type: 'object'; readonly members: infer Members }
}
  ? { readonly [Name in keyof Members]?: ValueOf<Members[Name]> | undefined }
  : S extends { readonly kind: { readonly type: 'schedule' } }
    ? GivenSchedule
    : ValueOf<S>
