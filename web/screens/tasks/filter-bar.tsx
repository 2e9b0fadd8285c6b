import { Button, NativeSelect, TextInput } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { Icon } from '../../components/icon.tsx'
import { StateFilter } from '../../components/list-filters.tsx'
import { STATES, type TaskFilters, TYPES } from './filters.ts'
import classes from './tasks-screen.module.css'

/** So long after the last key the text is asked for. */
const TYPING_MS = 250

/** Everything chosen here goes into the address, and is read from there. */
export function FilterBar({ filters }: { readonly filters: TaskFilters }) {
  const navigate = useNavigate()
  const choose = (change: Partial<Record<keyof TaskFilters, string>>) =>
    void navigate({ to: '/tasks', search: { ...filters, ...change } as TaskFilters, replace: true })
  return (
    <search className={classes.filters}>
      <TypedFilter label="Name or key" value={filters.q ?? ''} onChange={(q) => choose({ q })} isMain />
      <StateFilter states={STATES} value={filters.state} onChoose={(state) => choose({ state })} />
      <NativeSelect
        aria-label="Action"
        value={filters.type ?? ''}
        onChange={(event) => choose({ type: event.currentTarget.value })}
        data={[{ value: '', label: 'Any action' }, ...TYPES.map((value) => ({ value, label: value }))]}
      />
      <TypedFilter label="Tag" value={filters.tag ?? ''} onChange={(tag) => choose({ tag })} />
      {Object.keys(filters).length > 0 && (
        <Button variant="subtle" onClick={() => void navigate({ to: '/tasks', search: {}, replace: true })}>
          Clear
        </Button>
      )}
    </search>
  )
}

interface TypedFilterProps {
  readonly label: string
  readonly value: string
  readonly onChange: (value: string) => void
  /** The one that `/` goes to. */
  readonly isMain?: boolean
}

function TypedFilter({ label, value, onChange, isMain }: TypedFilterProps) {
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
      className={isMain ? classes.mainFilter : undefined}
      aria-label={label}
      placeholder={label}
      value={typed}
      onChange={(event) => setTyped(event.currentTarget.value)}
      leftSection={isMain ? <Icon name="search" size={16} /> : undefined}
      maxLength={200}
      {...(isMain ? { 'data-filter': true } : {})}
    />
  )
}
