/** What the four parts of the form have in common. */
import { type ReactNode, useId } from 'react'
import type { Draft } from './draft.ts'
import classes from './task-form.module.css'

/** What a part of the form is about, and how it says that something is otherwise now. */
export interface PartProps {
  readonly draft: Draft
  readonly change: (change: Partial<Draft>) => void
  /** What is wrong with the field that a pointer names, or with anything inside it. */
  readonly errorAt: (pointer: string) => string | undefined
}

interface QuestionProps {
  readonly number: number
  readonly title: string
  readonly children: ReactNode
}

/** One of the questions that the form asks, with the fields that answer it. */
export function Question({ number, title, children }: QuestionProps) {
  const id = useId()
  return (
    <section className={classes.part} aria-labelledby={id}>
      <h2 id={id} className={classes.question}>
        <span className={classes.number} aria-hidden="true">
          {number}
        </span>
        {title}
      </h2>
      <div className={classes.fields}>{children}</div>
    </section>
  )
}
