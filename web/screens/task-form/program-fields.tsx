/** The fields of a program: an uploaded file or a command of the worker's machine, and its arguments. */
import { NativeSelect, Switch, Textarea, type TextareaProps } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { filesQuery } from '../../api/files.ts'
import { itemsOf } from '../../api/pages.ts'
import { TextField } from '../../components/text-field.tsx'
import { sizeWords } from '../files/file-words.ts'
import { Uploads } from '../files/uploads.tsx'
import { Choice } from './choice.tsx'
import type { Draft } from './draft.ts'
import { Folded } from './folded.tsx'
import type { PartProps } from './part.tsx'
import classes from './task-form.module.css'

const PROGRAMS = [
  { value: 'file', label: 'Uploaded file' },
  { value: 'command', label: 'Command on the worker' },
]

export function ProgramFields(props: PartProps) {
  const { draft, change, errorAt } = props
  return (
    <>
      <Choice
        label="Program"
        value={draft.program}
        choices={PROGRAMS}
        onChange={(program) => change({ program: program as Draft['program'] })}
      />
      {draft.program === 'file' ? (
        <FileField {...props} />
      ) : (
        <TextField
          label="Command"
          description="Absolute path. The worker's operator must allow it with --exec-commands."
          placeholder="/usr/bin/rsync"
          value={draft.command}
          error={errorAt('/action/command')}
          onText={(command) => change({ command })}
        />
      )}
      <Lines
        label="Arguments"
        description="One per line"
        value={draft.args}
        error={errorAt('/action/args')}
        onText={(args) => change({ args })}
      />
      <Lines
        label="Environment"
        description="NAME=value, one per line. Use {{secret.NAME}} for secrets."
        value={draft.env}
        error={errorAt('/action/env')}
        onText={(env) => change({ env })}
      />
      <More {...props} />
    </>
  )
}

/** Offers the newest files. A selected file stays selectable even if it is older or already in use. */
function FileField({ draft, change, errorAt }: PartProps) {
  const files = itemsOf(useInfiniteQuery(filesQuery({ state: 'ready' })).data)
  const isListed = draft.file === '' || files.some(({ id }) => id === draft.file)
  return (
    <>
      <NativeSelect
        label="File"
        value={draft.file}
        error={errorAt('/action/file')}
        onChange={(event) => change({ file: event.currentTarget.value })}
        data={[
          { value: '', label: 'Choose a file' },
          ...(isListed ? [] : [{ value: draft.file, label: draft.file }]),
          ...files.map(({ id, name, size }) => ({
            value: id,
            label: size === null ? name : `${name}, ${sizeWords(size)}`,
          })),
        ]}
      />
      <Uploads onReady={({ id }) => change({ file: id })} />
    </>
  )
}

const MORE = ['stdin', 'files', 'limits', 'exitCodes'] as const satisfies readonly (keyof Draft)[]

function More({ draft, change, errorAt }: PartProps) {
  return (
    <Folded
      summary="Input, network and limits"
      fields={MORE.map((field) => `/action/${field}`)}
      errorAt={errorAt}
      isOpenFirst={draft.network || MORE.some((field) => draft[field] !== '')}
    >
      <Switch
        label="Allow network access"
        checked={draft.network}
        onChange={(event) => change({ network: event.currentTarget.checked })}
      />
      <Lines
        label="Standard input"
        description="JSON or text"
        value={draft.stdin}
        error={errorAt('/action/stdin')}
        onText={(stdin) => change({ stdin })}
      />
      <Lines
        label="Files in the work directory"
        description={'JSON, such as [{ "path": "config.json", "content": "{}" }]'}
        value={draft.files}
        error={errorAt('/action/files')}
        onText={(files) => change({ files })}
      />
      <Lines
        label="Limits"
        description={'JSON, such as { "memory": "256MiB", "cpus": 1, "processes": 64, "fileSize": "1GiB" }'}
        value={draft.limits}
        error={errorAt('/action/limits')}
        onText={(limits) => change({ limits })}
      />
      <Lines
        label="Exit codes"
        description={
          'JSON, such as { "complete": [0], "fail": [2] }. By default 0 completes and others are retried.'
        }
        value={draft.exitCodes}
        error={errorAt('/action/exitCodes')}
        onText={(exitCodes) => change({ exitCodes })}
      />
    </Folded>
  )
}

interface LinesProps extends Omit<TextareaProps, 'value' | 'onChange'> {
  readonly value: string
  readonly onText: (text: string) => void
}

function Lines({ onText, ...props }: LinesProps) {
  return (
    <Textarea
      autosize
      minRows={2}
      maxRows={12}
      classNames={{ input: classes.mono ?? '' }}
      {...props}
      onChange={(event) => onText(event.currentTarget.value)}
    />
  )
}
