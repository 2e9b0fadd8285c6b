/** Edits the whole task as JSON. Valid text is applied to the form at once. */
import { Textarea } from '@mantine/core'
import { useState } from 'react'
import type { FieldProblem } from '../../api/wire.ts'
import type { Draft } from './draft.ts'
import { draftOfJson } from './draft-json.ts'
import classes from './task-form.module.css'

interface JsonEditorProps {
  readonly draft: Draft
  /** Converts the draft to the JSON that is shown. */
  readonly jsonOf: (draft: Draft) => object
  /** Values of fields that the text leaves out. */
  readonly start: Draft
  readonly problems: readonly FieldProblem[]
  readonly onChange: (draft: Draft) => void
}

export function JsonEditor({ draft, jsonOf, start, problems, onChange }: JsonEditorProps) {
  const [text, setText] = useState(() => JSON.stringify(jsonOf(draft), null, 2))
  const [reason, setReason] = useState<string | null>(null)
  const write = (written: string) => {
    setText(written)
    const read = draftOfJson(written, start)
    setReason(read.ok ? null : read.reason)
    if (read.ok) onChange(read.draft)
  }
  return (
    <section className={classes.part} aria-label="The task as JSON">
      <Textarea
        label="The task as JSON"
        description="The body of POST /v1/tasks. See /docs for every field."
        autosize
        minRows={16}
        maxRows={40}
        spellCheck={false}
        value={text}
        error={reason}
        onChange={(event) => write(event.currentTarget.value)}
        classNames={{ input: classes.mono ?? '' }}
      />
      {reason === null && problems.length > 0 && (
        <ul className={classes.problems} aria-label="Errors">
          {problems.map(({ pointer, detail }) => (
            <li key={pointer + detail}>
              <code>{pointer}</code> {detail}
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}
