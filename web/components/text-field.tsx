import { TextInput, type TextInputProps } from '@mantine/core'
import { useProblem } from './field-problems.ts'

export interface TextFieldProps extends Omit<TextInputProps, 'value' | 'onChange' | 'pointer'> {
  readonly value: string
  readonly onText: (text: string) => void
  /** JSON pointer of the field in the request; the server's problem with it is shown here. */
  readonly pointer?: string
}

/** A controlled text field. */
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

/** The reason for an action, which is stored with it. */
export function ReasonField({ isFirst = false, ...props }: ReasonFieldProps) {
  return (
    <TextField label="Reason" maxLength={500} {...props} {...(isFirst ? { 'data-autofocus': true } : {})} />
  )
}
