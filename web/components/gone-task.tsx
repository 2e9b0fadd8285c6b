import { Link } from '@tanstack/react-router'
import classes from './failure.module.css'

/** Shown in place of a deleted task. */
export function GoneTask({ title }: { readonly title: string }) {
  return (
    <div className={classes.failure} role="alert">
      <p className={classes.title}>{title} was deleted.</p>
      <p>It no longer runs. Its past runs stay in the history.</p>
      <p>
        <Link to="/tasks">All tasks</Link> · <Link to="/runs">All runs</Link>
      </p>
    </div>
  )
}
