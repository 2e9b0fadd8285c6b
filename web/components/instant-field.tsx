import { useState } from 'react'
import { formatInstant, zoneWord } from '../../src/core/words/time.ts'
import { serverNow } from '../time/clock.ts'
import { instantOf, localOf } from '../time/local-instant.ts'
import { myZone } from '../time/zone.ts'
import { TextField, type TextFieldProps } from './text-field.tsx'

interface InstantFieldProps extends Omit<TextFieldProps, 'value' | 'onText' | 'type' | 'label'> {
  readonly label: string
  /** An instant, or an empty string. */
  readonly value: string
  /** The time zone of the field, whose name is shown beside the label. */
  readonly zone: string
  readonly onInstant: (at: string) => void
}

/** A date and time in a time zone. The value is an instant, which another time zone shows differently. */
export function InstantField({ label, value, zone, onInstant, description, ...props }: InstantFieldProps) {
  const [typed, setTyped] = useState('')
  // As long as it denotes the same instant, the text stays as typed: a field must not change while the user types.
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
