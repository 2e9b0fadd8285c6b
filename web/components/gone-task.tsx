import { Link } from '@tanstack/react-router'
import classes from './failure.module.css'

/** Stands where a task was that is deleted. */
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
