/** The equivalent command and request of the form. */
import { SegmentedControl } from '@mantine/core'
import { useState } from 'react'
import { CopyButton } from '../../components/copy.tsx'
import { curlOf } from '../../components/curl.ts'
import { CodeBlock, Panel } from '../../components/panel.tsx'
import classes from './consequences.module.css'

interface TwinsProps {
  readonly method: 'POST' | 'PATCH'
  readonly path: string
  readonly body: unknown
  readonly command: string
  readonly ifMatch?: string
  readonly reason?: string
}

const FORMS = [
  { value: 'json', label: 'JSON' },
  { value: 'curl', label: 'curl' },
  { value: 'cli', label: 'CLI' },
] as const
type Form = (typeof FORMS)[number]['value']

export function Twins({ command, ...request }: TwinsProps) {
  const [form, setForm] = useState<Form>('json')
  const texts: Readonly<Record<Form, () => string>> = {
    json: () => JSON.stringify(request.body, null, 2),
    curl: () => curlOf(request),
    cli: () => command,
  }
  const text = texts[form]()
  return (
    <Panel title="Equivalent request" aside={<CopyButton text={text} />}>
      <div className={classes.list}>
        <SegmentedControl
          aria-label="Form"
          size="xs"
          value={form}
          data={[...FORMS]}
          onChange={setForm}
          transitionDuration={0}
        />
        <CodeBlock text={text} label={`As ${FORMS.find(({ value }) => value === form)?.label}`} />
      </div>
    </Panel>
  )
}
