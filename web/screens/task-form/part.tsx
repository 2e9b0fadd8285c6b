/** Types and layout that the four parts of the form share. */
import { type ReactNode, useId } from 'react'
import type { Draft } from './draft.ts'
import classes from './task-form.module.css'

/** The draft, and how a part of the form changes it. */
export interface PartProps {
  readonly draft: Draft
  readonly change: (change: Partial<Draft>) => void
  /** The problem with the field of a JSON pointer or with anything inside it. */
  readonly errorAt: (pointer: string) => string | undefined
}

interface QuestionProps {
  readonly number: number
  readonly title: string
  readonly children: ReactNode
}

/** One of the form's questions, with its fields. */
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
