import { useState } from 'react'
import { formatInstant, zoneWord } from '../../src/core/words/time.ts'
import { serverNow } from '../time/clock.ts'
import { instantOf, localOf } from '../time/local-instant.ts'
import { myZone } from '../time/zone.ts'
import { TextField, type TextFieldProps } from './text-field.tsx'

interface InstantFieldProps extends Omit<TextFieldProps, 'value' | 'onText' | 'type' | 'label'> {
  readonly label: string
  /** An instant, or nothing. */
  readonly value: string
  /** Whose clock the field shows; its name stands beside the label. */
  readonly zone: string
  readonly onInstant: (at: string) => void
}

/** A date and a time on the clock of a place. Whoever keeps it keeps an instant, which another zone shows otherwise. */
export function InstantField({ label, value, zone, onInstant, description, ...props }: InstantFieldProps) {
  const [typed, setTyped] = useState('')
  // While it stands for the same, the text stays as it was typed: a field that is being typed into must not change.
  const shown = instantOf(typed, zone) === value ? typed : localOf(value, zone)
  return (
    <TextField
      {...props}
      label={`${label} (${zoneWord(zone)})`}
      description={inMyZone(value, zone) ?? description}
      type="datetime-local"
      value={shown}
      onText={(text) => {
        setTyped(text)
        onInstant(text === '' ? '' : instantOf(text, zone))
      }}
    />
  )
}

/** Shows the time in the reader's zone when the field is in another zone. */
function inMyZone(value: string, zone: string): string | undefined {
  const at = Date.parse(value)
  if (zone === myZone() || Number.isNaN(at)) return undefined
  return `= ${formatInstant(at, myZone(), { now: serverNow() })}`
}
