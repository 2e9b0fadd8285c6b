import type { ReactNode } from 'react'
import classes from './table.module.css'

interface TableProps {
  readonly label: string
  readonly columns: readonly string[]
  readonly children: ReactNode
}

/**
 * Rows of one kind of thing, each named by its `th`. Where there is no room for columns each row is a card, and a cell says
 * itself what it is: by its `data-label`. One with `data-wide` may break into lines, and takes a whole line of a card.
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
