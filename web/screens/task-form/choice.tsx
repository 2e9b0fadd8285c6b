import { SegmentedControl } from '@mantine/core'
import '@mantine/core/styles/SegmentedControl.css'
import '@mantine/core/styles/FloatingIndicator.css'
import { useId } from 'react'
import classes from './task-form.module.css'

interface ChoiceProps {
  readonly label: string
  readonly value: string
  readonly choices: readonly { readonly value: string; readonly label: string }[]
  readonly onChange: (value: string) => void
}

/** A few exclusive choices side by side. */
export function Choice({ label, value, choices, onChange }: ChoiceProps) {
  const id = useId()
  return (
    <div>
      <span id={id} className={classes.label}>
        {label}
      </span>
      <SegmentedControl
        aria-labelledby={id}
        fullWidth
        value={value}
        data={[...choices]}
        onChange={onChange}
        transitionDuration={0}
        withItemsBorders={false}
        classNames={{ root: classes.choice ?? '' }}
      />
    </div>
  )
}
