/** Creates an API key, and shows it once. */
import { Button, NativeSelect } from '@mantine/core'
import { useState } from 'react'
import { chosenProject } from '../../api/chosen-project.ts'
import { createKey, type KeyInput, keysQuery } from '../../api/keys.ts'
import { meQuery } from '../../api/me.ts'
import { queryClient } from '../../api/query-client.ts'
import { ActDialog } from '../../components/act-dialog.tsx'
import { CopyButton } from '../../components/copy.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { Found } from '../../components/found.tsx'
import { useKeptFields } from '../../components/kept.ts'
import { CodeBlock } from '../../components/panel.tsx'
import { TextField } from '../../components/text-field.tsx'
import classes from './settings.module.css'

type Role = KeyInput['role']

const ROLES = [
  { value: 'viewer', label: 'Viewer: reads' },
  { value: 'operator', label: 'Operator: also pauses, triggers, retries and cancels' },
  { value: 'editor', label: 'Editor: also creates and changes tasks' },
  { value: 'admin', label: 'Admin: also manages keys, members and settings' },
  { value: 'worker', label: 'Worker: registers workers, and nothing else' },
] as const satisfies readonly { value: Role; label: string }[]

interface Fields {
  readonly name: string
  readonly role: Role
  readonly queues: string
  readonly networks: string
}

const START = (): Fields => ({ name: '', role: 'editor', queues: '', networks: '' })
const listOf = (text: string) => text.split(',').flatMap((part) => part.trim() || [])

export function KeyPanel({ onClose }: { readonly onClose: () => void }) {
  const { fields, change, isFound, startOver, forget } = useKeptFields('key', START)
  const [made, setMade] = useState<string | null>(null)
  const { role } = fields
  const name = fields.name.trim()
  const [queues, networks] = [listOf(fields.queues), listOf(fields.networks)]
  const project = chosenProject() ?? queryClient.getQueryData(meQuery.queryKey)?.project ?? 'default'
  const input: KeyInput = {
    name,
    role,
    project,
    ...(queues.length === 0 ? {} : { queues }),
    ...(networks.length === 0 ? {} : { networks }),
  }
  const go = async () => {
    const { key } = await createKey(input)
    void queryClient.invalidateQueries({ queryKey: keysQuery.queryKey })
    forget()
    setMade(key)
  }
  const close = () => {
    forget()
    onClose()
  }
  if (made !== null) return <NewKey text={made} onClose={onClose} />
  return (
    <ActDialog
      title="Create key"
      onClose={close}
      isReady={name !== ''}
      effects={[
        `The key is valid in the project ${project}, with the role ${role}.`,
        'It is shown once, in the next step.',
      ]}
      twin={{ method: 'POST', path: '/v1/keys', body: input }}
      command={`belfry key create --role ${role} --project ${project} --name ${JSON.stringify(name)}`}
      button="Create key"
      act={go}
    >
      {isFound && <Found onStartOver={startOver} />}
      <TextField
        label="Name"
        description="What the key is for."
        maxLength={100}
        value={fields.name}
        onText={(next) => change({ name: next })}
        data-autofocus
      />
      <NativeSelect
        label="Role"
        value={role}
        data={[...ROLES]}
        onChange={(event) => change({ role: event.currentTarget.value as Role })}
      />
      <TextField
        label="Queues"
        description="Separated by commas. Leave empty for all queues."
        value={fields.queues}
        onText={(next) => change({ queues: next })}
      />
      <TextField
        label="Networks"
        description="Where requests must come from, such as 10.0.0.0/8. Leave empty for everywhere."
        value={fields.networks}
        onText={(next) => change({ networks: next })}
      />
    </ActDialog>
  )
}

/** A key that was just made. */
export function NewKey({ text, onClose }: { readonly text: string; readonly onClose: () => void }) {
  return (
    <Dialog title="API key" onClose={onClose}>
      <div className={classes.secret}>
        <p>Copy the key now. It is not shown again.</p>
        <CodeBlock label="Key" text={text} />
        <div className={classes.secretButtons}>
          <CopyButton text={text} />
          <Button onClick={onClose} data-autofocus>
            Done
          </Button>
        </div>
      </div>
    </Dialog>
  )
}
