import { useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { ChangeOptions } from '../../api/client.ts'
import { useMay } from '../../api/me.ts'
import { itemsOf } from '../../api/pages.ts'
import { deleteSecret, type Secret, secretsQuery } from '../../api/secrets.ts'
import { ActDialog } from '../../components/act-dialog.tsx'
import { Instant } from '../../components/instant.tsx'
import { tell } from '../../components/toast.tsx'
import { usePanel } from './panel-in-address.ts'
import { SecretPanel } from './secret-panel.tsx'
import { Row, SettingsList, Small } from './settings-list.tsx'

/** Secrets: values that tasks refer to by name and that nobody can read. */
export function Secrets() {
  const query = useInfiniteQuery(secretsQuery)
  const panel = usePanel()
  const isEditor = useMay()('edit')
  const [asked, setAsked] = useState<Secret | null>(null)
  const [changed, setChanged] = useState<Secret | null>(null)
  return (
    <SettingsList
      title="Secrets"
      query={query}
      items={itemsOf(query.data)}
      add={isEditor ? 'New secret' : undefined}
      onAdd={panel.open}
      nothing="No secrets yet. Tasks use a secret as {{secret.NAME}} in URLs, headers and bodies. Values are stored encrypted and never shown."
      row={(secret) => (
        <Row
          key={secret.name}
          name={secret.name}
          acts={[
            isEditor && ['New value…', () => setChanged(secret)],
            isEditor && ['Delete…', () => setAsked(secret)],
          ]}
        >
          <Small>
            version {secret.version}, set <Instant at={secret.updatedAt} />
          </Small>
        </Row>
      )}
    >
      {panel.isOpen && <SecretPanel onClose={panel.close} />}
      {changed && <SecretPanel name={changed.name} onClose={() => setChanged(null)} />}
      {asked && (
        <DeleteSecret secret={asked} onClose={() => setAsked(null)} onDeleted={() => void query.refetch()} />
      )}
    </SettingsList>
  )
}

interface DeleteSecretProps {
  readonly secret: Secret
  readonly onClose: () => void
  readonly onDeleted: () => void
}

function DeleteSecret({ secret: { name }, onClose, onDeleted }: DeleteSecretProps) {
  const remove = async (options: ChangeOptions) => {
    await deleteSecret(name, options)
    tell({ text: `Secret ${name} was deleted.` })
    onDeleted()
    onClose()
  }
  return (
    <ActDialog
      title={`Delete the secret ${name}?`}
      size="md"
      onClose={onClose}
      effects={[
        'Its value cannot be restored.',
        'If tasks use it, it is not deleted, and the tasks are listed.',
      ]}
      twin={{ method: 'DELETE', path: `/v1/secrets/${name}` }}
      command={`belfry secret delete ${name}`}
      button="Delete"
      isHarmful
      act={remove}
    />
  )
}
