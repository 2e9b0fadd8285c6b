import { Fragment } from 'react'
import { Instant } from './instant.tsx'

const INSTANT = /(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)/

interface SentenceProps {
  readonly text: string
  readonly zone: string | null
}

/** A sentence of the server, with its instants in the user's time zone. */
export function Sentence({ text, zone }: SentenceProps) {
  return text.split(INSTANT).map((part, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: parts have no other name, and a sentence does not move.
    <Fragment key={index}>{INSTANT.test(part) ? <Instant at={part} zone={zone} /> : part}</Fragment>
  ))
}
