/** What a benchmark found out: as tables for people while it runs, and as plain values for programs. */

/** A column of a table: its title, and what it shows of a row. */
export interface Column<Row> {
  readonly title: string
  of(row: Row): string | number | null
}

export class Report {
  readonly results: Record<string, unknown> = {}
  readonly #isQuiet: boolean

  constructor({ isQuiet }: { isQuiet: boolean }) {
    this.#isQuiet = isQuiet
  }

  say(text: string): void {
    if (!this.#isQuiet) console.log(text)
  }

  /** Reports progress to the person who waits. */
  step(text: string): void {
    process.stderr.write(`· ${text}\n`)
  }

  /** Prints the rows and keeps them under the key. */
  table<Row>(key: string, title: string, columns: readonly Column<Row>[], rows: readonly Row[]): void {
    this.results[key] = rows
    this.say(`\n${title}\n${tableOf(columns, rows)}`)
  }
}

/** Columns as wide as their widest cell; the first is set to the left, the others to the right. */
export function tableOf<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string {
  const cells = [
    columns.map(({ title }) => title),
    ...rows.map((row) => columns.map((column) => shown(column.of(row)))),
  ]
  const widths = columns.map((_, i) => Math.max(...cells.map((line) => line[i]?.length ?? 0)))
  return cells
    .map((line) =>
      line
        .map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** Shows small numbers with one decimal, and large ones with separators between thousands. */
function shown(value: string | number | null): string {
  if (value === null) return '–'
  if (typeof value === 'string') return value
  if (Math.abs(value) < 100 && !Number.isInteger(value)) return value.toFixed(1)
  return Math.round(value)
    .toString()
    .replace(/\B(?=(\d{3})+$)/g, ' ')
}
