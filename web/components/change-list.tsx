import classes from './change-list.module.css'

/** One field that differs. */
export interface Change {
  readonly field: string
  readonly before: unknown
  readonly after: unknown
}

interface ChangeListProps {
  readonly changes: readonly Change[]
  readonly label: string
}

/** Lists the fields that differ, with the value before and after. */
export function ChangeList({ changes, label }: ChangeListProps) {
  return (
    <ul className={classes.list} aria-label={label}>
      {changes.map(({ field, before, after }) => (
        <li key={field} className={classes.change}>
          <code className={classes.field}>{field}</code>
          <span className={classes.values}>
            <del className={classes.before}>{valueWords(before)}</del>
            <span aria-hidden="true"> → </span>
            <ins className={classes.after}>{valueWords(after)}</ins>
          </span>
        </li>
      ))}
    </ul>
  )
}

function valueWords(value: unknown): string {
  if (value === null || value === undefined) return 'none'
  return typeof value === 'string' ? value : JSON.stringify(value)
}
