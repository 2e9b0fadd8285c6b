/** A box of the form, drawn according to the declaration of its field. */
import { NativeSelect, TagsInput, Textarea, TextInput } from '@mantine/core'
import '@mantine/core/styles/Popover.css'
import '@mantine/core/styles/Pill.css'
import '@mantine/core/styles/PillsInput.css'
import type { BooleanKind, ChoiceKind } from '../../../src/core/task/field-kinds.ts'
import { InstantField } from '../../components/instant-field.tsx'
import type { Draft } from './draft.ts'
import type { Box } from './draft-fields.ts'
import type { PartProps } from './part.tsx'
import classes from './task-form.module.css'

interface FieldBoxProps extends PartProps {
  readonly box: Box
}

export function FieldBox({ box, draft, change, errorAt }: FieldBoxProps) {
  const { kind, label, hint, placeholder } = box.setting
  const content = draft[box.name]
  const say = (said: string | readonly string[]) => change({ [box.name]: said } as Partial<Draft>)
  const shown = {
    label,
    error: errorAt(box.pointer),
    ...(hint === undefined ? {} : { description: hint }),
    ...(placeholder === undefined ? {} : { placeholder }),
  }
  if (typeof content !== 'string')
    return (
      <TagsInput
        {...shown}
        value={[...content]}
        onChange={say}
        comboboxProps={{ transitionProps: { duration: 0 }, withinPortal: false }}
      />
    )
  const onChange = (event: { currentTarget: { value: string } }) => say(event.currentTarget.value)
  switch (kind.type) {
    case 'choice':
      return <NativeSelect {...shown} value={content} data={options(kind)} onChange={onChange} />
    case 'boolean':
      return <NativeSelect {...shown} value={content} data={answers(kind)} onChange={onChange} />
    case 'instant':
      return <InstantField {...shown} zone={draft.timezone} value={content} onInstant={say} />
    case 'json':
      return (
        <Textarea
          {...shown}
          autosize
          minRows={1}
          maxRows={10}
          value={content}
          onChange={onChange}
          classNames={{ input: classes.mono ?? '' }}
        />
      )
    case 'integer':
      return <TextInput {...shown} inputMode="numeric" value={content} onChange={onChange} />
    case 'number':
      return <TextInput {...shown} inputMode="decimal" value={content} onChange={onChange} />
    default:
      return <TextInput {...shown} value={content} onChange={onChange} />
  }
}

const answers = ({ words }: BooleanKind) => [
  { value: 'true', label: words.true },
  { value: 'false', label: words.false },
]

const options = ({ of, words }: ChoiceKind) => of.map((value) => ({ value, label: words[value] ?? value }))
