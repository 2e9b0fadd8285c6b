import { useShownZone } from './instant.tsx'
import { InstantField } from './instant-field.tsx'
import { type TypedFilterProps, useTyped } from './typed-filter.tsx'

/** A field for an instant at which a list begins or ends, in the zone of the shown times. */
export function InstantFilter({ label, ...props }: Pick<TypedFilterProps, 'label' | 'value' | 'onChange'>) {
  const [typed, setTyped] = useTyped(props)
  return <InstantField label={label} zone={useShownZone(null)} value={typed} onInstant={setTyped} />
}
