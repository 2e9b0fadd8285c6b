import { Button } from '@mantine/core'
import classes from './found.module.css'

/** Says that the form was filled from unsaved input, and offers to discard it. */
export function Found({ onStartOver }: { readonly onStartOver: () => void }) {
  return (
    <p className={classes.found} role="status">
      <span>Your unsaved changes were restored.</span>
      <Button size="compact-sm" variant="default" onClick={onStartOver}>
        Start over
      </Button>
    </p>
  )
}
