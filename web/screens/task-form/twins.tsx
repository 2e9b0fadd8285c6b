/** The same task for a terminal or a program: whoever clicks can also script it. */
import { SegmentedControl } from '@mantine/core'
import { useState } from 'react'
import { CopyButton } from '../../components/copy.tsx'
import { CodeBlock, Panel } from '../../components/panel.tsx'
import classes from './consequences.module.css'

interface TwinsProps {
  readonly method: 'POST' | 'PATCH'
  readonly path: string
  readonly body: unknown
  readonly ifMatch?: string
}

const FORMS = [
  { value: 'json', label: 'JSON' },
  { value: 'curl', label: 'curl' },
] as const

export function Twins({ method, path, body, ifMatch }: TwinsProps) {
  const [form, setForm] = useState<string>('json')
  const json = JSON.stringify(body, null, 2)
  const text = form === 'json' ? json : curl({ method, path, json, ifMatch })
  return (
    <Panel title="The same as" aside={<CopyButton text={text} />}>
      <div className={classes.list}>
        <SegmentedControl
          aria-label="Form"
          size="xs"
          value={form}
          data={[...FORMS]}
          onChange={setForm}
          transitionDuration={0}
        />
        <CodeBlock text={text} label={form === 'json' ? 'As JSON' : 'As curl'} />
      </div>
    </Panel>
  )
}

/** A single quote inside a shell's single quotes has to be left and entered again. */
const quote = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`

function curl({
  method,
  path,
  json,
  ifMatch,
}: {
  method: string
  path: string
  json: string
  ifMatch: string | undefined
}): string {
  return [
    `curl -X ${method} ${location.origin}${path}`,
    `-H 'content-type: application/json'`,
    ...(ifMatch === undefined ? [] : [`-H ${quote(`if-match: ${ifMatch}`)}`]),
    `-d ${quote(json)}`,
  ].join(' \\\n  ')
}
