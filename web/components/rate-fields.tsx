/** How many may be in progress at once, and how many may start: of a target or of a queue. */
import classes from './fields.module.css'
import { TextField } from './text-field.tsx'
import { numberOf } from './typed.ts'

/** As they are typed; nothing for no limit. */
export interface RateText {
  readonly limit: string
  readonly rate: string
  readonly burst: string
}

/** As the API takes them. A burst is said with a rate only. */
export function ratesOf({ limit, rate, burst }: RateText) {
  const isRated = rate.trim() !== ''
  return {
    limit: limit.trim() === '' ? null : numberOf(limit),
    rate: isRated ? rate.trim() : null,
    ...(isRated ? { burst: burst.trim() === '' ? null : numberOf(burst) } : {}),
  }
}

/** The same for the command line. */
export const rateFlags = ({ limit, rate, burst }: ReturnType<typeof ratesOf>): string[][] => [
  [String(limit ?? 'none')],
  ['--rate', String(rate ?? 'none')],
  ...(burst === undefined ? [] : [['--burst', String(burst ?? 'none')]]),
]

interface RateFieldsProps {
  readonly text: RateText
  readonly onText: (text: RateText) => void
  /** The field for those in progress. */
  readonly label: string
  readonly description: string
  readonly placeholder: string
  /** Where it goes in the request. */
  readonly pointer: string
  /** What starts: calls or runs. */
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
