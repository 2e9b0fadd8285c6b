import { useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useMay } from '../../api/me.ts'
import { itemsOf } from '../../api/pages.ts'
import { type Secret, secretsQuery } from '../../api/secrets.ts'
import { Instant } from '../../components/instant.tsx'
import { DeleteSecret } from './delete-secret.tsx'
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
        <DeleteSecret
          name={asked.name}
          onClose={() => setAsked(null)}
          onDeleted={() => void query.refetch()}
        />
      )}
    </SettingsList>
  )
}
