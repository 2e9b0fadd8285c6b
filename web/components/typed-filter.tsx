import { TextInput } from '@mantine/core'
import { useEffect, useState } from 'react'
import { Icon } from './icon.tsx'

/** So long after the last key the text is asked for. */
const TYPING_MS = 250

interface TypedFilterProps {
  readonly label: string
  /** The label, unless it says more. */
  readonly placeholder?: string
  readonly value: string
  readonly onChange: (value: string) => void
  /** The one that `/` goes to. */
  readonly isMain?: boolean
}

/** A text that a list is narrowed down by. */
export function TypedFilter({ label, placeholder = label, value, onChange, isMain }: TypedFilterProps) {
  const [typed, setTyped] = useState(value)
  const [known, setKnown] = useState(value)
  // The address changed by itself, as with the back button: it wins over what was typed before.
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
