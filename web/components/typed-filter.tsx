import { TextInput } from '@mantine/core'
import { useEffect, useState } from 'react'
import { Icon } from './icon.tsx'

/** Delay after the last key before the list is queried. */
const TYPING_MS = 250

export interface TypedFilterProps {
  readonly label: string
  /** The label by default. */
  readonly placeholder?: string
  readonly value: string
  readonly onChange: (value: string) => void
  /** Whether the shortcut `/` focuses this field. */
  readonly isMain?: boolean
}

/** What was typed into a filter, which changes the address once the user has stopped typing. */
export function useTyped({ value, onChange }: Pick<TypedFilterProps, 'value' | 'onChange'>) {
  const [typed, setTyped] = useState(value)
  const [known, setKnown] = useState(value)
  // If the address changes by itself, such as with the back button, it replaces what was typed.
  if (known !== value) {
    setKnown(value)
    setTyped(value)
  }
  useEffect(() => {
    if (typed === value) return
    const timer = setTimeout(() => {
      setKnown(typed)
      onChange(typed)
    }, TYPING_MS)
    return () => clearTimeout(timer)
  }, [typed, value, onChange])
  return [typed, setTyped] as const
}

/** A text field that filters a list. */
export function TypedFilter({ label, placeholder = label, isMain, ...props }: TypedFilterProps) {
  const [typed, setTyped] = useTyped(props)
  return (
    <TextInput
      aria-label={label}
      placeholder={placeholder}
      value={typed}
      onChange={(event) => setTyped(event.currentTarget.value)}
      leftSection={isMain ? <Icon name="search" size={16} /> : undefined}
      maxLength={200}
      {...(isMain ? { 'data-filter': true } : {})}
    />
  )
}
