/**
 * SQL written as SQL. A statement is constant text with values where they are used; there is no way to
 * glue text in, so there is nothing to escape.
 */
export interface Statement<Row> {
  readonly text: string
  readonly values: readonly unknown[]
  /** Carries the row type; never present at run time. */
  readonly row?: Row
}

export function sql<Row = Record<string, never>>(
  parts: TemplateStringsArray,
  ...values: unknown[]
): Statement<Row> {
  let text = parts[0] ?? ''
  for (let i = 1; i < parts.length; i++) text += `$${i}${parts[i]}`
  return { text, values }
}

type Scalar = string | number | boolean | null

/**
 * One column of a batch as an array literal, the form in which batches travel to `unnest`. The driver
 * would do the same from an array, but inspects each element on the way: at a thousand rows of ten columns
 * that costs more than everything else Node does for them.
 */
export function list<T>(rows: readonly T[], pick: (row: T) => Scalar): string {
  let text = '{'
  for (const row of rows) text += text.length === 1 ? element(pick(row)) : `,${element(pick(row))}`
  return `${text}}`
}

const NEEDS_NO_QUOTES = /^[0-9A-Za-z_.+:-]+$/

function element(value: Scalar): string {
  if (value === null) return 'NULL'
  if (typeof value !== 'string') return String(value)
  if (value.length <= 36 && NEEDS_NO_QUOTES.test(value) && value.toUpperCase() !== 'NULL') return value
  return `"${value.replace(/["\\]/g, '\\$&')}"`
}
