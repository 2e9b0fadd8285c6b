/** Filters that lists on several screens share. An empty choice means no filter. */
import { NativeSelect } from '@mantine/core'
import { BETWEEN, SPANS, type Span } from './span.ts'
import { type AnyState, LOOKS } from './state.ts'

interface ChoiceFilterProps {
  readonly label: string
  /** Shown for no filter. */
  readonly any: string
  readonly choices: readonly (string | { readonly value: string; readonly label: string })[]
  readonly value: string | undefined
  readonly onChoose: (value: string) => void
}

export function ChoiceFilter({ label, any, choices, value, onChoose }: ChoiceFilterProps) {
  return (
    <NativeSelect
      aria-label={label}
      value={value ?? ''}
      onChange={(event) => onChoose(event.currentTarget.value)}
      data={[{ value: '', label: any }, ...choices]}
    />
  )
}

interface StateFilterProps<S extends AnyState> {
  readonly states: readonly S[]
  readonly value: S | undefined
  readonly onChoose: (state: string) => void
}

export function StateFilter<S extends AnyState>({ states, value, onChoose }: StateFilterProps<S>) {
  return (
    <ChoiceFilter
      label="State"
      any="Any state"
      choices={states.map((state) => ({ value: state, label: LOOKS[state].word }))}
      value={value}
      onChoose={onChoose}
    />
  )
}

const SPAN_WORDS = { '1h': 'Last hour', '24h': 'Last 24 hours', '7d': 'Last 7 days' } as const

interface SinceFilterProps {
  readonly value: Span | typeof BETWEEN | undefined
  readonly onChoose: (since: string) => void
  /** Whether the list can also be limited to a range between two instants. */
  readonly withBetween?: boolean
}

export function SinceFilter({ value, onChoose, withBetween = false }: SinceFilterProps) {
  return (
    <ChoiceFilter
      label="Time range"
      any="Any time"
      choices={[
        ...SPANS.map((span) => ({ value: span, label: SPAN_WORDS[span] })),
        ...(withBetween ? [{ value: BETWEEN, label: 'Between …' }] : []),
      ]}
      value={value}
      onChoose={onChoose}
    />
  )
}
