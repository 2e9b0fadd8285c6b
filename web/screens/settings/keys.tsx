import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { type ApiKey, keysQuery, revokeKey, rotateKey } from '../../api/keys.ts'
import { isAdmin, meQuery } from '../../api/me.ts'
import { queryClient } from '../../api/query-client.ts'
import { ActDialog } from '../../components/act-dialog.tsx'
import { Failure } from '../../components/failure.tsx'
import { Icon } from '../../components/icon.tsx'
import { Instant } from '../../components/instant.tsx'
import { Bones, CodeBlock, Panel } from '../../components/panel.tsx'
import { tell } from '../../components/toast.tsx'
import { NewKey } from './key-panel.tsx'
import classes from './settings.module.css'

/** API keys, for admins. On a server without keys the first one comes from the command line: the dashboard would be locked out. */
export function Keys({ onAdd }: { readonly onAdd: () => void }) {
  const { data: me } = useQuery(meQuery)
  if (!me || !isAdmin(me)) return null
  return me.kind === 'anonymous' ? <NoKeys /> : <KeyList onAdd={onAdd} />
}

function NoKeys() {
  return (
    <Panel title="API keys">
      <p>
        There are no API keys, so everyone on this machine can do everything. As soon as the first key exists,
        all requests need one. To create it:
      </p>
      <CodeBlock label="Command" text="belfry key create --role admin" />
    </Panel>
  )
}

type Asked = { readonly key: ApiKey; readonly act: 'rotate' | 'revoke' }

function KeyList({ onAdd }: { readonly onAdd: () => void }) {
  const { data: keys, error, refetch } = useQuery(keysQuery)
  const [asked, setAsked] = useState<Asked | null>(null)
  const add = (
    <Button size="xs" variant="default" leftSection={<Icon name="plus" size={14} />} onClick={onAdd}>
      Create key
    </Button>
  )
  const close = () => setAsked(null)
  return (
    <Panel title="API keys" aside={add} flush>
      {error && !keys && <Failure error={error} onRetry={() => void refetch()} />}
      {!keys && !error && <Bones count={1} />}
      {keys?.length === 0 && <p className={classes.nothing}>No API keys yet.</p>}
      <ul aria-label="API keys">
        {keys?.map((key) => (
          <KeyRow key={key.id} shown={key} onAsk={(act) => setAsked({ key, act })} />
        ))}
      </ul>
      {asked?.act === 'rotate' && <RotateKey shown={asked.key} onClose={close} />}
      {asked?.act === 'revoke' && <RevokeKey shown={asked.key} onClose={close} />}
    </Panel>
  )
}

interface KeyRowProps {
  readonly shown: ApiKey
  readonly onAsk: (act: Asked['act']) => void
}

function KeyRow({ shown, onAsk }: KeyRowProps) {
  const { name, hint, role, project, state, lastUsedAt, expiresAt, rotatedTo } = shown
  return (
    <li className={`${classes.row} ${classes.key}`}>
      <div className={classes.main}>
        <strong className={classes.words}>{name}</strong>
        <span className={classes.small}>
          {hint}… · {project ?? 'all projects'}
        </span>
      </div>
      <span>{role}</span>
      <span className={classes.small}>
        {state !== 'active' ? (
          state
        ) : lastUsedAt === null ? (
          'never used'
        ) : (
          <>
            used <Instant at={lastUsedAt} />
          </>
        )}
        {state === 'active' && expiresAt !== null && (
          <>
            , expires <Instant at={expiresAt} />
          </>
        )}
      </span>
      <span className={classes.acts}>
        {state === 'active' && rotatedTo === null && (
          <Button size="xs" variant="default" onClick={() => onAsk('rotate')} aria-label={`Rotate ${name}`}>
            Rotate…
          </Button>
        )}
        {state === 'active' && (
          <Button size="xs" variant="default" onClick={() => onAsk('revoke')} aria-label={`Revoke ${name}`}>
            Revoke…
          </Button>
        )}
      </span>
    </li>
  )
}

const readAgain = () => void queryClient.invalidateQueries({ queryKey: keysQuery.queryKey })

interface KeyDialogProps {
  readonly shown: ApiKey
  readonly onClose: () => void
}

function RotateKey({ shown: { id, name }, onClose }: KeyDialogProps) {
  const [made, setMade] = useState<string | null>(null)
  const rotate = async () => {
    setMade((await rotateKey(id)).key)
    readAgain()
  }
  if (made !== null) return <NewKey text={made} onClose={onClose} />
  return (
    <ActDialog
      title={`Rotate the key ${name}?`}
      onClose={onClose}
      effects={[
        'A new key with the same name, role and limits is created, and shown once in the next step.',
        'The old key stays valid for a day.',
      ]}
      twin={{ method: 'POST', path: `/v1/keys/${id}/rotate` }}
      command={`belfry key rotate ${id}`}
      button="Rotate"
      act={rotate}
    />
  )
}

function RevokeKey({ shown: { id, name }, onClose }: KeyDialogProps) {
  const revoke = async () => {
    await revokeKey(id)
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
      keep="Cancel"
      isHarmful
      act={revoke}
    />
  )
}
