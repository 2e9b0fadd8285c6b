import { Button } from '@mantine/core'
import classes from './found.module.css'

/** Says that what is shown was written before, and how to be rid of it. */
export function Found({ onStartOver }: { readonly onStartOver: () => void }) {
  return (
    <p className={classes.found} role="status">
      <span>This is what you wrote before and did not save.</span>
      <Button size="compact-sm" variant="default" onClick={onStartOver}>
        Start over
      </Button>
    </p>
  )
}
