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

/** Turns rows into one array a column, the form in which batches travel to `unnest`. */
export function columns<T, K extends string>(
  rows: readonly T[],
  pick: (row: T) => Record<K, unknown>,
): Record<K, unknown[]> {
  const out: Record<string, unknown[]> = {}
  for (const row of rows) {
    const picked: Record<string, unknown> = pick(row)
    for (const name in picked) {
      const column = out[name]
      if (column) column.push(picked[name])
      else out[name] = [picked[name]]
    }
  }
  return out as Record<K, unknown[]>
}
