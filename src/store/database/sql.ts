/**
 * SQL written as SQL. A statement is constant text with values where they are used; there is no way to
 * glue text in, so there is nothing to escape. What several statements share is a part, written as SQL itself.
 */
export interface Statement<Row> {
  readonly text: string
  readonly values: readonly unknown[]
  /** Makes rows of what the server answers, where that takes more than the driver does. */
  readonly read?: (answer: readonly never[]) => Row[]
  /** Its plan is the same whatever the values are, or as long as they are few: a connection may keep it. */
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

/** What the text of a statement depends on: the texts it consists of, in order, and null where a value stands. */
type Shape = (readonly string[] | null)[]

/** Takes a statement or a part apart, which may consist of parts itself. */
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
 * Texts by the literal they were written in. A statement is sent hundreds of times a second and its text is some kilobytes long:
 * putting it together each time, and comparing it with the one that was prepared, costs more than everything else about it.
 */
const known = new WeakMap<readonly string[], Written[]>()
/** A literal has as many texts as there are ways to choose its parts, which are few. */
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

/** The text of the first literal of a shape, with those inside it; what was written is taken off the shape. */
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

/** The same statement, its answer read in another way. */
export const reading = <Answer, Row>(
  { text, values }: Statement<Answer>,
  read: (answer: readonly Answer[]) => Row[],
): Statement<Row> => ({ text, values, read })

/** The same statement, its plan kept by the connection that carries it out, also within a transaction if it always is. */
export const keepingPlan = <Row>(
  statement: Statement<Row>,
  keepsPlan: NonNullable<Statement<Row>['keepsPlan']> = 'of few values',
): Statement<Row> => ({ ...statement, keepsPlan })

type Scalar = string | number | boolean | null

/**
 * One column of a batch as an array literal, the form in which batches travel to `unnest`. The driver
 * would do the same from an array, but inspects each element on the way: at a thousand rows of ten columns
 * that costs more than everything else Node does for them.
 */
export const list = <T>(rows: readonly T[], pick: (row: T) => Scalar): string =>
  literalOf(rows, pick, element)

/**
 * A column of JSON texts, the same way. JSON quotes a text as an array literal does, but for control characters, of which a
 * JSON text has none; and it takes a third of the time.
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
    // Most columns hold the same in row after row.
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
