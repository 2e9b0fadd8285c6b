import { TextInput, type TextInputProps } from '@mantine/core'

export interface TextFieldProps extends Omit<TextInputProps, 'value' | 'onChange'> {
  readonly value: string
  readonly onText: (text: string) => void
}

/** A line of text that somebody else keeps. */
export function TextField({ onText, ...props }: TextFieldProps) {
  return <TextInput {...props} onChange={(event) => onText(event.currentTarget.value)} />
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
