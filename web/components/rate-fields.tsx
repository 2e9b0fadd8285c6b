/** Fields for concurrency and rate limits of a target or a queue. */
import classes from './fields.module.css'
import { TextField } from './text-field.tsx'
import { numberOf } from './typed.ts'

/** The limits as typed; an empty string means no limit. */
export interface RateText {
  readonly limit: string
  readonly rate: string
  readonly burst: string
}

/** The limits as the API takes them. A burst requires a rate. */
export function ratesOf({ limit, rate, burst }: RateText) {
  const isRated = rate.trim() !== ''
  return {
    limit: limit.trim() === '' ? null : numberOf(limit),
    rate: isRated ? rate.trim() : null,
    ...(isRated ? { burst: burst.trim() === '' ? null : numberOf(burst) } : {}),
  }
}

/** The same limits as flags of the command line. */
export const rateFlags = ({ limit, rate, burst }: ReturnType<typeof ratesOf>): string[][] => [
  [String(limit ?? 'none')],
  ['--rate', String(rate ?? 'none')],
  ...(burst === undefined ? [] : [['--burst', String(burst ?? 'none')]]),
]

interface RateFieldsProps {
  readonly text: RateText
  readonly onText: (text: RateText) => void
  /** Label of the field for concurrency. */
  readonly label: string
  readonly description: string
  readonly placeholder: string
  /** JSON pointer of the limit in the request. */
  readonly pointer: string
  /** What the limit counts: calls or runs. */
  readonly what: string
}

export function RateFields({ text, onText, what, pointer, ...first }: RateFieldsProps) {
  const change = (part: Partial<RateText>) => onText({ ...text, ...part })
  return (
    <>
      <TextField
        {...first}
        pointer={pointer}
        inputMode="numeric"
        value={text.limit}
        onText={(limit) => change({ limit })}
        data-autofocus
      />
      <div className={classes.two}>
        <TextField
          label="Rate"
          pointer="/rate"
          description="Such as 10/s, 100/m or 1000/h"
          placeholder="No limit"
          value={text.rate}
          onText={(rate) => change({ rate })}
        />
        <TextField
          label="Burst"
          pointer="/burst"
          description={`${what} that may start at once`}
          placeholder="What the rate allows in 100 ms"
          inputMode="numeric"
          disabled={text.rate.trim() === ''}
          value={text.burst}
          onText={(burst) => change({ burst })}
        />
      </div>
    </>
  )
}
