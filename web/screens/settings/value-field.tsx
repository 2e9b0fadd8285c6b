/**
 * The field for the value of a secret, of one line or of several. What is typed is hidden unless the user wants to see it, and
 * neither the browser nor a spelling service gets it.
 */

import { Checkbox, PasswordInput, Textarea } from '@mantine/core'
import { MAX_SECRET_CHARACTERS } from '../../../src/core/secret/secret-reference.ts'
import { formatCount } from '../../../src/core/words/time.ts'
import '@mantine/core/styles/Checkbox.css'
import '@mantine/core/styles/PasswordInput.css'
import { type ClipboardEvent, useEffect, useRef, useState } from 'react'
import { useProblem } from '../../components/field-problems.ts'
import shared from '../../components/fields.module.css'
import { hasSeveralLines, pasted } from './secret-value.ts'
import classes from './settings.module.css'

/** Chrome ignores `off` in a field for a password, and would fill in the API key that was saved on the sign-in page. */
const PRIVATE = {
  autoComplete: 'new-password',
  autoCorrect: 'off',
  autoCapitalize: 'off',
  spellCheck: false,
} as const

interface ValueFieldProps {
  readonly value: string
  readonly onValue: (value: string) => void
  readonly isFirst: boolean
}

export function ValueField({ value, onValue, isFirst }: ValueFieldProps) {
  const [isLong, setLong] = useState(false)
  const [isShown, setShown] = useState(false)
  const problem = useProblem('/value')
  const lines = useRef<HTMLTextAreaElement>(null)
  const [pastedTo, setPastedTo] = useState<{ readonly caret: number } | null>(null)
  // The field that had the focus was replaced by one for several lines.
  useEffect(() => {
    if (pastedTo === null) return
    lines.current?.focus()
    lines.current?.setSelectionRange(pastedTo.caret, pastedTo.caret)
  }, [pastedTo])
  const paste = (event: ClipboardEvent<HTMLInputElement>) => {
    const text = event.clipboardData.getData('text')
    if (!hasSeveralLines(text)) return
    event.preventDefault()
    const { selectionStart, selectionEnd } = event.currentTarget
    const end = selectionEnd ?? value.length
    const result = pasted(text, { value, start: selectionStart ?? end, end })
    onValue(result.value)
    setLong(true)
    setPastedTo(result)
  }
  const field = {
    ...PRIVATE,
    label: 'Value',
    value,
    error:
      value.length > MAX_SECRET_CHARACTERS
        ? `It has more than ${formatCount(MAX_SECRET_CHARACTERS)} characters.`
        : problem,
    onChange: (event: { currentTarget: { value: string } }) => onValue(event.currentTarget.value),
    ...(isFirst ? { 'data-autofocus': true } : {}),
  }
  return (
    <>
      {isLong ? (
        <Textarea
          {...field}
          ref={lines}
          rows={8}
          classNames={{ input: [shared.mono, isShown ? '' : classes.hidden].join(' ') }}
        />
      ) : (
        <PasswordInput {...field} visible={isShown} onVisibilityChange={setShown} onPaste={paste} />
      )}
      <div className={classes.checks}>
        <Checkbox
          label="Several lines"
          checked={isLong}
          disabled={isLong && value.includes('\n')}
          onChange={(event) => setLong(event.currentTarget.checked)}
        />
        {isLong && (
          <Checkbox
            label="Show the value"
            checked={isShown}
            onChange={(event) => setShown(event.currentTarget.checked)}
          />
        )}
      </div>
    </>
  )
}
