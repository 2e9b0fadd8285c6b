import { TextInput, type TextInputProps } from '@mantine/core'
import { MAX_REASON_CHARACTERS, REASON_HEADER } from '../../src/core/audit-log/reason.ts'
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

export interface ReasonFieldProps {
  readonly value: string
  readonly onText: (text: string) => void
  readonly placeholder?: string
  readonly error?: string | undefined
  readonly isFirst?: boolean
}

/** The reason for a change, which the audit log records. */
export function ReasonField({ isFirst = false, ...props }: ReasonFieldProps) {
  return (
    <TextField
      label="Reason"
      pointer={REASON_HEADER}
      placeholder="Optional, recorded in the audit log"
      maxLength={MAX_REASON_CHARACTERS}
      {...props}
      {...(isFirst ? { 'data-autofocus': true } : {})}
    />
  )
}
