import { Button } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { deleteSecret, type Secret, secretsQuery } from '../../api/secrets.ts'
import { ActDialog } from '../../components/act-dialog.tsx'
import { Failure } from '../../components/failure.tsx'
import { Icon } from '../../components/icon.tsx'
import { Instant } from '../../components/instant.tsx'
import { Bones, Panel } from '../../components/panel.tsx'
import { tell } from '../../components/toast.tsx'
import { SecretPanel } from './secret-panel.tsx'
import classes from './settings.module.css'

/** Values that tasks refer to by name, and that nobody can read. */
export function Secrets({ onAdd }: { readonly onAdd: () => void }) {
  const { data, error, refetch, hasNextPage, fetchNextPage } = useInfiniteQuery(secretsQuery)
  const secrets = data?.pages.flatMap(({ items }) => items)
  const [asked, setAsked] = useState<Secret | null>(null)
  const [changed, setChanged] = useState<Secret | null>(null)
  const add = (
    <Button size="xs" variant="default" leftSection={<Icon name="plus" size={14} />} onClick={onAdd}>
      New secret
    </Button>
  )
  return (
    <Panel title="Secrets" aside={add} flush>
      {error && !secrets && <Failure error={error} onRetry={() => void refetch()} />}
      {!secrets && !error && <Bones count={1} />}
      {secrets?.length === 0 && (
        <p className={classes.nothing}>
          No secrets yet. Tasks use a secret as {'{{secret.NAME}}'} in URLs, headers and bodies. Values are
          stored encrypted and never shown.
        </p>
      )}
      <ul aria-label="Secrets">
        {secrets?.map((secret) => (
          <SecretRow
            key={secret.name}
            secret={secret}
            onChange={() => setChanged(secret)}
            onDelete={() => setAsked(secret)}
          />
        ))}
      </ul>
      {hasNextPage && (
        <Button size="xs" variant="subtle" onClick={() => void fetchNextPage()}>
          Show more
        </Button>
      )}
      {changed && <SecretPanel name={changed.name} onClose={() => setChanged(null)} />}
      {asked && (
        <DeleteSecret secret={asked} onClose={() => setAsked(null)} onDeleted={() => void refetch()} />
      )}
    </Panel>
  )
}

interface SecretRowProps {
  readonly secret: Secret
  readonly onChange: () => void
  readonly onDelete: () => void
}

function SecretRow({ secret, onChange, onDelete }: SecretRowProps) {
  const { name, version, updatedAt } = secret
  return (
    <li className={`${classes.row} ${classes.secret}`}>
      <strong className={classes.words}>{name}</strong>
      <span className={classes.small}>
        version {version}, set <Instant at={updatedAt} />
      </span>
      <Button size="xs" variant="default" onClick={onChange} aria-label={`Set a new value of ${name}`}>
        New value…
      </Button>
      <Button size="xs" variant="default" onClick={onDelete} aria-label={`Delete ${name}`}>
        Delete…
      </Button>
    </li>
  )
}

interface DeleteSecretProps {
  readonly secret: Secret
  readonly onClose: () => void
  readonly onDeleted: () => void
}

function DeleteSecret({ secret: { name }, onClose, onDeleted }: DeleteSecretProps) {
  const remove = async () => {
    await deleteSecret(name)
    tell({ text: `Secret ${name} was deleted.` })
    onDeleted()
    onClose()
  }
  return (
    <ActDialog
      title={`Delete the secret ${name}?`}
      size="md"
      onClose={onClose}
      effects={['Its value cannot be restored.', 'If tasks use it, it is not deleted, and they are named.']}
      twin={{ method: 'DELETE', path: `/v1/secrets/${name}` }}
      command={`belfry secret delete ${name}`}
      button="Delete"
      keep="Cancel"
      isHarmful
      act={remove}
    />
  )
}
