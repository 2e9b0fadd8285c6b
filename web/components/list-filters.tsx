/** Filters that lists on several screens share. An empty choice means no filter. */
import { NativeSelect } from '@mantine/core'
import { SPANS, type Span } from './span.ts'
import { type AnyState, LOOKS } from './state.ts'

interface StateFilterProps<S extends AnyState> {
  readonly states: readonly S[]
  readonly value: S | undefined
  readonly onChoose: (state: string) => void
}

export function StateFilter<S extends AnyState>({ states, value, onChoose }: StateFilterProps<S>) {
  return (
    <NativeSelect
      aria-label="State"
      value={value ?? ''}
      onChange={(event) => onChoose(event.currentTarget.value)}
      data={[
        { value: '', label: 'Any state' },
        ...states.map((state) => ({ value: state, label: LOOKS[state].word })),
      ]}
    />
  )
}

const SPAN_WORDS = { '1h': 'Last hour', '24h': 'Last 24 hours', '7d': 'Last 7 days' } as const

interface SinceFilterProps {
  readonly value: Span | undefined
  readonly onChoose: (since: string) => void
}

export function SinceFilter({ value, onChoose }: SinceFilterProps) {
  return (
    <NativeSelect
      aria-label="Time range"
      value={value ?? ''}
      onChange={(event) => onChoose(event.currentTarget.value)}
      data={[
        { value: '', label: 'Any time' },
        ...SPANS.map((span) => ({ value: span, label: SPAN_WORDS[span] })),
      ]}
    />
  )
}
