/**
 * SQL written as SQL. A statement is constant text with values where they are used; text cannot be concatenated into it, so
 * nothing needs escaping. SQL that several statements share is a part, which is written in the same way.
 */
export interface Statement<Row> {
  readonly text: string
  readonly values: readonly unknown[]
  /** Converts the server's result to rows, if that takes more than the driver does. */
  readonly read?: (answer: readonly never[]) => Row[]
  /** The plan is the same whatever the values are, or as long as they are few: a connection may keep it. */
  readonly keepsPlan?: 'of few values' | 'always'
  /** Carries the row type; never present at run time. */
  readonly row?: Row
}

/** A piece of SQL that several statements share, with its own values. */
export class Part {
  readonly parts: readonly string[]
  readonly values: readonly unknown[]

  constructor(parts: readonly string[], values: readonly unknown[]) {
    this.parts = parts
    this.values = values
  }
}

export const part = (parts: TemplateStringsArray, ...values: unknown[]): Part => new Part(parts, values)

export function sql<Row = Record<string, never>>(
  parts: TemplateStringsArray,
  ...given: unknown[]
): Statement<Row> {
  const values: unknown[] = []
  const shape: Shape = []
  gather({ parts, values: given }, values, shape)
  return { text: textOf(parts, shape), values }
}

/** What the text of a statement depends on: the literals it consists of, in order, and null for each value. */
type Shape = (readonly string[] | null)[]

/** Flattens a statement or a part, which may contain parts itself. */
function gather(
  { parts, values: given }: Pick<Part, 'parts' | 'values'>,
  values: unknown[],
  shape: Shape,
): void {
  shape.push(parts)
  for (const value of given) {
    if (value instanceof Part) gather(value, values, shape)
    else {
      values.push(value)
      shape.push(null)
    }
  }
}

interface Written {
  readonly shape: Shape
  readonly text: string
}

/**
 * Texts by the literal they come from. A statement is sent hundreds of times a second and its text is some kilobytes long:
 * building it each time, and comparing it with the prepared one, costs more than everything else about it.
 */
const known = new WeakMap<readonly string[], Written[]>()
/** A literal has one text for each combination of its parts, of which there are few. */
const MAX_TEXTS = 16

function textOf(parts: readonly string[], shape: Shape): string {
  const texts = known.get(parts) ?? []
  const found = texts.find((one) => isSame(one.shape, shape))
  if (found) return found.text
  const text = written([...shape])
  if (texts.length < MAX_TEXTS) known.set(parts, [...texts, { shape, text }])
  return text
}

const isSame = (a: Shape, b: Shape): boolean => a.length === b.length && a.every((piece, i) => piece === b[i])

/** Returns the text of the first literal of a shape, including nested ones, and removes them from the shape. */
function written(shape: Shape, counter = { values: 0 }): string {
  const parts = shape.shift() ?? []
  let text = parts[0] ?? ''
  for (const next of parts.slice(1)) {
    if (shape[0] !== null) text += written(shape, counter)
    else {
      shape.shift()
      counter.values++
      text += `$${counter.values}`
    }
    text += next
  }
  return text
}

/** Returns the statement with another way of reading its result. */
export const reading = <Answer, Row>(
  { text, values }: Statement<Answer>,
  read: (answer: readonly Answer[]) => Row[],
): Statement<Row> => ({ text, values, read })

/** Returns the statement with its plan kept by each connection; within a transaction, too, if `always`. */
export const keepingPlan = <Row>(
  statement: Statement<Row>,
  keepsPlan: NonNullable<Statement<Row>['keepsPlan']> = 'of few values',
): Statement<Row> => ({ ...statement, keepsPlan })

type Scalar = string | number | boolean | null

/**
 * One column of a batch as an array literal, the form in which batches are passed to `unnest`. The driver would build the same
 * from an array, but inspects each element: for a thousand rows of ten columns, that costs more than everything else Node does
 * for them.
 */
export const list = <T>(rows: readonly T[], pick: (row: T) => Scalar): string =>
  literalOf(rows, pick, element)

/**
 * The same for a column of JSON texts. JSON quotes a string as an array literal does, except for control characters, which JSON
 * text does not contain; and this takes a third of the time.
 */
export const jsonList = <T>(rows: readonly T[], pick: (row: T) => string | null): string =>
  literalOf(rows, pick, (text) => (text === null ? NULL : JSON.stringify(text)))

function literalOf<T, V extends Scalar>(
  rows: readonly T[],
  pick: (row: T) => V,
  write: (value: V) => string,
): string {
  let text = ''
  let last: V | undefined
  let written = ''
  for (const row of rows) {
    const value = pick(row)
    // In most columns, consecutive rows have the same value.
    if (value !== last) {
      last = value
      written = write(value)
    }
    text += text === '' ? written : `,${written}`
  }
  return `{${text}}`
}

/** The elements of an array literal whose elements need no quotes: ids, numbers, words. */
export function elements(literal: string | null): string[] {
  return literal === null || literal === '{}' ? [] : literal.slice(1, -1).split(',')
}

const NULL = 'NULL'
const NEEDS_NO_QUOTES = /^[0-9A-Za-z_.+:-]+$/

function element(value: Scalar): string {
  if (value === null) return NULL
  if (typeof value !== 'string') return String(value)
  if (value.length <= 36 && NEEDS_NO_QUOTES.test(value) && !isNullWord(value)) return value
  return `"${value.replace(/["\\]/g, '\\$&')}"`
}

const isNullWord = (value: string) => value.length === 4 && value.toUpperCase() === 'NULL'
