import type { ReactNode } from 'react'
import { TextField } from '../../components/text-field.tsx'
import type { LimitField, TypedLimits } from './limit-fields.ts'
import classes from './settings.module.css'

interface LimitInputsProps {
  readonly fields: readonly LimitField[]
  readonly typed: TypedLimits
  readonly onType: (typed: TypedLimits) => void
  readonly isReadOnly?: boolean
  /** Content below a field, such as its current use. */
  readonly below?: (field: LimitField) => ReactNode
}

/** A field for each limit; empty means no limit. */
export function LimitInputs({ fields, typed, onType, ...props }: LimitInputsProps) {
  return fields.map((field) => (
    <div key={field.name} className={classes.limit}>
      <TextField
        label={field.label}
        description={field.description}
        placeholder="No limit"
        readOnly={props.isReadOnly ?? false}
        value={typed[field.name]}
        pointer={`/limits/${field.name}`}
        onText={(text) => onType({ ...typed, [field.name]: text })}
      />
      {props.below?.(field)}
    </div>
  ))
}
