import { TextInput, type TextInputProps } from '@mantine/core'
import { useProblem } from './field-problems.ts'

export interface TextFieldProps extends Omit<TextInputProps, 'value' | 'onChange' | 'pointer'> {
  readonly value: string
  readonly onText: (text: string) => void
  /** Where it goes in the request: what the server says about it is shown here. */
  readonly pointer?: string
}

/** A line of text that somebody else keeps. */
export function TextField({ onText, pointer, ...props }: TextFieldProps) {
  const problem = useProblem(pointer)
  return (
    <TextInput
      {...props}
      error={props.error ?? problem}
      onChange={(event) => onText(event.currentTarget.value)}
    />
  )
}

interface ReasonFieldProps {
  readonly value: string
  readonly onText: (text: string) => void
  readonly placeholder?: string
  readonly error?: string | undefined
  readonly isFirst?: boolean
}

/** Why somebody does what a panel does; kept with it. */
export function ReasonField({ isFirst = false, ...props }: ReasonFieldProps) {
  return (
    <TextField label="Reason" maxLength={500} {...props} {...(isFirst ? { 'data-autofocus': true } : {})} />
  )
}
