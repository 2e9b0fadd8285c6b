/** Creates an API key, and shows it once. */
import { NativeSelect } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { ROLES } from '../../../src/core/access/role.ts'
import type { ChangeOptions } from '../../api/client.ts'
import { createKey, type KeyInput, keysQuery } from '../../api/keys.ts'
import { meQuery, shownProject, useMay } from '../../api/me.ts'
import { queryClient } from '../../api/query-client.ts'
import { ActDialog } from '../../components/act-dialog.tsx'
import shared from '../../components/fields.module.css'
import { InstantField } from '../../components/instant-field.tsx'
import { useKeptFields } from '../../components/kept.ts'
import { shellLine } from '../../components/shell.ts'
import { TextField } from '../../components/text-field.tsx'
import { given, listOf } from '../../components/typed.ts'
import { myZone } from '../../time/zone.ts'
import { KEY_LIMIT_FIELDS, limitFlags, limitsEdit, type TypedLimits, typedLimits } from './limit-fields.ts'
import { LimitInputs } from './limit-inputs.tsx'
import { RoleField } from './role-field.tsx'
import classes from './settings.module.css'
import { ShownOnce } from './shown-once.tsx'

interface Fields {
  readonly name: string
  readonly role: KeyInput['role']
  readonly scope: 'project' | 'installation'
  readonly expiresAt: string
  readonly queues: string
  readonly networks: string
  readonly limits: TypedLimits
}

const START = (): Fields => ({
  name: '',
  role: 'editor',
  scope: 'project',
  expiresAt: '',
  queues: '',
  networks: '',
  limits: typedLimits({}),
})

function inputOf(fields: Fields, project: string | null): KeyInput {
  const [queues, networks] = [listOf(fields.queues), listOf(fields.networks)]
  const limits = limitsEdit({}, fields.limits)
  return {
    name: fields.name.trim(),
    role: fields.role,
    project,
    ...given('expiresAt', fields.expiresAt),
    ...(queues.length === 0 ? {} : { queues }),
    ...(networks.length === 0 ? {} : { networks }),
    ...(Object.keys(limits).length === 0 ? {} : { limits }),
  }
}

const commandOf = ({ name, role, project, expiresAt, queues, networks, limits }: KeyInput): string =>
  shellLine([
    ['belfry', 'key', 'create', '--role', role, '--name', name],
    project == null ? [] : ['--project', project],
    expiresAt == null ? [] : ['--expires-at', expiresAt],
    ...(queues ?? []).map((queue) => ['--queue', queue]),
    ...(networks ?? []).map((network) => ['--network', network]),
    ...limitFlags(limits ?? {}),
  ])

export function KeyPanel({ onClose }: { readonly onClose: () => void }) {
  const kept = useKeptFields('key', START)
  const { fields, change } = kept
  const [made, setMade] = useState<string | null>(null)
  const { data: me } = useQuery(meQuery)
  const isOfAll = useMay()('installation')
  const project = shownProject(me)
  const input = inputOf(fields, fields.scope === 'project' ? project : null)
  const go = async (options: ChangeOptions) => {
    const { key } = await createKey(input, options)
    void queryClient.invalidateQueries({ queryKey: keysQuery.queryKey })
    setMade(key)
  }
  if (made !== null) return <NewKey text={made} onClose={onClose} />
  return (
    <ActDialog
      title="Create key"
      onClose={onClose}
      kept={kept}
      isReady={input.name !== ''}
      effects={[
        `The key is valid in ${input.project === null ? 'every project' : `the project ${project}`}, with the role ${input.role}.`,
        'It is shown once, in the next step.',
      ]}
      twin={{ method: 'POST', path: '/v1/keys', body: input }}
      command={commandOf(input)}
      button="Create key"
      act={go}
    >
      <TextField
        label="Name"
        pointer="/name"
        description="What the key is for."
        maxLength={100}
        value={fields.name}
        onText={(name) => change({ name })}
        data-autofocus
      />
      <RoleField roles={ROLES} value={fields.role} onRole={(role) => change({ role })} />
      {isOfAll && (
        <NativeSelect
          label="Valid in"
          value={fields.scope}
          data={[
            { value: 'project', label: `Project ${project}` },
            { value: 'installation', label: 'Every project' },
          ]}
          onChange={(event) => change({ scope: event.currentTarget.value as Fields['scope'] })}
        />
      )}
      <InstantField
        label="Expires"
        pointer="/expiresAt"
        description="Leave empty for a key that never expires."
        zone={myZone()}
        value={fields.expiresAt}
        onInstant={(expiresAt) => change({ expiresAt })}
      />
      <details>
        <summary className={classes.summary}>Queues, networks and limits</summary>
        <div className={`${shared.two} ${classes.folded}`}>
          <TextField
            label="Queues"
            pointer="/queues"
            description="Separated by commas."
            placeholder="All queues"
            value={fields.queues}
            onText={(queues) => change({ queues })}
          />
          <TextField
            label="Networks"
            pointer="/networks"
            description="Such as 10.0.0.0/8, separated by commas."
            placeholder="From everywhere"
            value={fields.networks}
            onText={(networks) => change({ networks })}
          />
          <LimitInputs
            fields={KEY_LIMIT_FIELDS}
            typed={fields.limits}
            onType={(limits) => change({ limits })}
          />
        </div>
      </details>
    </ActDialog>
  )
}

/** Shows a key that was just created. */
export function NewKey({ text, onClose }: { readonly text: string; readonly onClose: () => void }) {
  return <ShownOnce title="API key" label="Key" words="Copy the key now." text={text} onClose={onClose} />
}
