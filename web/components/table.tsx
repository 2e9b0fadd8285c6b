import type { ReactNode } from 'react'
import classes from './table.module.css'

interface TableProps {
  readonly label: string
  readonly columns: readonly string[]
  readonly children: ReactNode
}

/**
 * A table whose rows are named by their `th`. On narrow screens each row becomes a card and each cell shows its `data-label`. A
 * cell with `data-wide` may wrap and takes a whole line of the card.
 */
export function Table({ label, columns, children }: TableProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard.
    <div className={classes.scroll} tabIndex={0} role="region" aria-label={label}>
      <table className={classes.table}>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column} scope="col">
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  )
}
