import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { ChangeOptions } from '../../api/client.ts'
import { type ApiKey, editKey, keysQuery, revokeKey, rotateKey } from '../../api/keys.ts'
import { meQuery } from '../../api/me.ts'
import { itemsOf } from '../../api/pages.ts'
import { queryClient } from '../../api/query-client.ts'
import { ActDialog } from '../../components/act-dialog.tsx'
import shared from '../../components/fields.module.css'
import { Instant } from '../../components/instant.tsx'
import { InstantField } from '../../components/instant-field.tsx'
import { CodeBlock, Panel } from '../../components/panel.tsx'
import { shellLine } from '../../components/shell.ts'
import { StateMark } from '../../components/state-mark.tsx'
import { TextField } from '../../components/text-field.tsx'
import { tell } from '../../components/toast.tsx'
import { myZone } from '../../time/zone.ts'
import { KeyPanel, NewKey } from './key-panel.tsx'
import { OVERLAP, oldKeyWords, rotationCommand, rotationOf } from './key-rotation.ts'
import { KEY_LIMIT_FIELDS, limitFlags, limitsEdit, typedLimits } from './limit-fields.ts'
import { LimitInputs } from './limit-inputs.tsx'
import { usePanel } from './panel-in-address.ts'
import classes from './settings.module.css'
import { type Act, Row, SettingsList, Small } from './settings-list.tsx'

/**
 * API keys. The first key of a server must be created on the command line, because creating it here would lock out the
 * dashboard.
 */
export function Keys() {
  const { data: me } = useQuery(meQuery)
  return me?.kind === 'anonymous' ? <NoKeys /> : <KeyList />
}

function NoKeys() {
  return (
    <Panel title="API keys">
      <div className={classes.once}>
        <p>
          There are no API keys, so everyone on this machine can do everything. As soon as the first key
          exists, all requests need one, and the dashboard asks for it. To create it:
        </p>
        <CodeBlock label="Command" text="belfry key create --role admin" />
      </div>
    </Panel>
  )
}

type Asked = { readonly shown: ApiKey; readonly act: 'limit' | 'rotate' | 'revoke' }

function KeyList() {
  const query = useInfiniteQuery(keysQuery)
  const panel = usePanel()
  const [asked, setAsked] = useState<Asked | null>(null)
  const actsOf = (shown: ApiKey): (Act | false)[] =>
    shown.state !== 'active'
      ? []
      : [
          ['Limits…', () => setAsked({ shown, act: 'limit' })],
          shown.rotatedTo === null && ['Rotate…', () => setAsked({ shown, act: 'rotate' })],
          ['Revoke…', () => setAsked({ shown, act: 'revoke' })],
        ]
  const Asking = asked && DIALOGS[asked.act]
  return (
    <SettingsList
      title="API keys"
      query={query}
      items={itemsOf(query.data)}
      add="Create key"
      onAdd={panel.open}
      nothing="No API keys of this project yet. Programs and workers authenticate with them."
      row={(shown) => (
        <Row
          key={shown.id}
          name={shown.name}
          about={[`${shown.hint}… · ${shown.project ?? 'every project'}`, ...narrowingWords(shown)]}
          acts={actsOf(shown)}
        >
          <span>{shown.role}</span>
          <Use shown={shown} />
        </Row>
      )}
    >
      {panel.isOpen && <KeyPanel onClose={panel.close} />}
      {Asking && <Asking shown={asked.shown} onClose={() => setAsked(null)} />}
    </SettingsList>
  )
}

/** Restrictions of a key besides its role, one line each. */
function narrowingWords({ queues, networks, limits }: ApiKey): string[] {
  const set = KEY_LIMIT_FIELDS.flatMap(({ name, unit }) => {
    const value = limits?.[name as keyof NonNullable<ApiKey['limits']>] ?? null
    return value === null ? [] : [`${value} ${unit}`]
  })
  return [
    ...(queues === null ? [] : [`queues ${queues.join(', ')}`]),
    ...(networks === null ? [] : [`from ${networks.join(', ')}`]),
    ...(set.length === 0 ? [] : [`limits: ${set.join(', ')}`]),
  ]
}

function Use({ shown: { state, lastUsedAt, expiresAt, revokedAt, rotatedTo } }: { readonly shown: ApiKey }) {
  const endedAt = state === 'revoked' ? revokedAt : state === 'expired' ? expiresAt : null
  if (endedAt !== null)
    return (
      <Small>
        <StateMark state="cancelled" text={state} /> <Instant at={endedAt} />
      </Small>
    )
  return (
    <Small>
      {lastUsedAt === null ? (
        'never used'
      ) : (
        <>
          used <Instant at={lastUsedAt} />
        </>
      )}
      {expiresAt !== null && (
        <>
          , {rotatedTo === null ? 'expires' : 'rotated, valid until'} <Instant at={expiresAt} />
        </>
      )}
    </Small>
  )
}

const readAgain = () => void queryClient.invalidateQueries({ queryKey: keysQuery.queryKey })

interface KeyDialogProps {
  readonly shown: ApiKey
  readonly onClose: () => void
}

function LimitKey({ shown: { id, name, limits }, onClose }: KeyDialogProps) {
  const [typed, setTyped] = useState(() => typedLimits(limits ?? {}))
  const edit = limitsEdit(limits ?? {}, typed)
  const isChanged = Object.keys(edit).length > 0
  const save = async (options: ChangeOptions) => {
    await editKey(id, { limits: edit }, options)
    readAgain()
    tell({ text: `Limits of the key ${name} were saved.` })
    onClose()
  }
  return (
    <ActDialog
      title={`Limits of the key ${name}`}
      onClose={onClose}
      isReady={isChanged}
      effects={[
        'They apply in addition to the limits of the project.',
        'The change takes effect on all nodes within two seconds. Existing tasks are not affected.',
      ]}
      twin={{ method: 'PATCH', path: `/v1/keys/${id}`, body: { limits: edit } }}
      command={shellLine([['belfry', 'key', 'limit', id], ...limitFlags(edit)])}
      button="Save limits"
      act={save}
    >
      <div className={shared.two}>
        <LimitInputs fields={KEY_LIMIT_FIELDS} typed={typed} onType={setTyped} />
      </div>
    </ActDialog>
  )
}

function RotateKey({ shown, onClose }: KeyDialogProps) {
  const { id, name } = shown
  const [fields, setFields] = useState({ overlap: OVERLAP, expiresAt: '' })
  const [made, setMade] = useState<string | null>(null)
  const rotation = rotationOf(fields)
  const old = oldKeyWords(fields.overlap, shown)
  const rotate = async (options: ChangeOptions) => {
    setMade((await rotateKey(id, rotation, options)).key)
    readAgain()
  }
  if (made !== null) return <NewKey text={made} onClose={onClose} />
  return (
    <ActDialog
      title={`Rotate the key ${name}?`}
      onClose={onClose}
      isReady={old !== null}
      effects={[
        'A new key with the same name, role and limits is created, and shown once in the next step.',
        old ?? 'Enter how long the old key stays valid.',
      ]}
      twin={{ method: 'POST', path: `/v1/keys/${id}/rotate`, body: rotation }}
      command={rotationCommand(id, rotation)}
      button="Rotate"
      act={rotate}
    >
      <div className={shared.two}>
        <TextField
          label="Keep the old key for"
          description="From 0s to 30d"
          pointer="/overlap"
          placeholder={OVERLAP}
          value={fields.overlap}
          onText={(overlap) => setFields({ ...fields, overlap })}
          data-autofocus
        />
        <InstantField
          label="New key expires"
          description={
            shown.expiresAt === null
              ? 'Leave empty for a key that never expires.'
              : 'Leave empty for the lifetime of the old key.'
          }
          pointer="/expiresAt"
          zone={myZone()}
          value={fields.expiresAt}
          onInstant={(expiresAt) => setFields({ ...fields, expiresAt })}
        />
      </div>
    </ActDialog>
  )
}

function RevokeKey({ shown: { id, name }, onClose }: KeyDialogProps) {
  const revoke = async (options: ChangeOptions) => {
    await revokeKey(id, options)
    readAgain()
    tell({ text: `The key ${name} was revoked.` })
    onClose()
  }
  return (
    <ActDialog
      title={`Revoke the key ${name}?`}
      onClose={onClose}
      effects={[
        'Within two seconds every node refuses the key and closes its streams.',
        'Workers that registered with it stop, and their runs start elsewhere.',
        'A revoked key cannot be used again.',
      ]}
      twin={{ method: 'DELETE', path: `/v1/keys/${id}` }}
      command={`belfry key revoke ${id}`}
      button="Revoke"
      isHarmful
      act={revoke}
    />
  )
}

const DIALOGS = { limit: LimitKey, rotate: RotateKey, revoke: RevokeKey } as const
