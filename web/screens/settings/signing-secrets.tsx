import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { ChangeOptions } from '../../api/client.ts'
import { useMay } from '../../api/me.ts'
import { queryClient } from '../../api/query-client.ts'
import {
  revokeSigningSecret,
  rotateSigningSecret,
  SIGNING_SECRETS_PATH,
  type SigningSecret,
  signingSecretsQuery,
} from '../../api/signing-secrets.ts'
import { ActDialog } from '../../components/act-dialog.tsx'
import { Distance, Instant } from '../../components/instant.tsx'
import { shellLine } from '../../components/shell.ts'
import { StateMark } from '../../components/state-mark.tsx'
import { TextField } from '../../components/text-field.tsx'
import { tell } from '../../components/toast.tsx'
import { given } from '../../components/typed.ts'
import { usePanel } from './panel-in-address.ts'
import { Row, SettingsList, Small } from './settings-list.tsx'
import { NewSecret, SigningSecretPanel } from './signing-secret-panel.tsx'
import { afterRevoking, originName, requestsTo } from './signing-words.ts'

type Asked = { readonly secret: SigningSecret; readonly act: 'rotate' | 'revoke' }

/** Secrets that prove to receivers that a request comes from the project. */
export function SigningSecrets() {
  const query = useQuery(signingSecretsQuery)
  const panel = usePanel()
  const isEditor = useMay()('edit')
  const [asked, setAsked] = useState<Asked | null>(null)
  const all = query.data ?? []
  const close = () => setAsked(null)
  return (
    <SettingsList
      title="Signing secrets"
      query={query}
      items={all}
      add={isEditor ? 'New signing secret' : undefined}
      onAdd={panel.open}
      nothing="No signing secrets yet; requests are not signed. With a signing secret, receivers can verify that a request comes from this project."
      row={(secret) => (
        <Row
          key={secret.id}
          name={originName(secret.origin)}
          called={`${originName(secret.origin)} ${secret.id}`}
          about={[secret.id]}
          acts={[
            isEditor && secret.expiresAt === null && ['Rotate…', () => setAsked({ secret, act: 'rotate' })],
            isEditor && ['Revoke…', () => setAsked({ secret, act: 'revoke' })],
          ]}
        >
          <Standing secret={secret} />
        </Row>
      )}
    >
      {panel.isOpen && <SigningSecretPanel onClose={panel.close} />}
      {asked?.act === 'rotate' && <RotateSecret secret={asked.secret} onClose={close} />}
      {asked?.act === 'revoke' && <RevokeSecret secret={asked.secret} all={all} onClose={close} />}
    </SettingsList>
  )
}

function Standing({ secret: { createdAt, expiresAt } }: { readonly secret: SigningSecret }) {
  return (
    <>
      {expiresAt === null ? (
        <StateMark state="completed" text="in use" />
      ) : (
        <>
          <StateMark state="scheduled" text="rotated" />
          <Small>
            signs until <Instant at={expiresAt} /> (<Distance at={expiresAt} />)
          </Small>
        </>
      )}
      <Small>
        created <Instant at={createdAt} />
      </Small>
    </>
  )
}

const readAgain = () => void queryClient.invalidateQueries({ queryKey: signingSecretsQuery.queryKey })

interface SecretDialogProps {
  readonly secret: SigningSecret
  readonly onClose: () => void
}

/** How long the previous secret continues to sign by default. */
const KEEP = '1d'

function RotateSecret({ secret: { origin }, onClose }: SecretDialogProps) {
  const [keep, setKeep] = useState(KEEP)
  const [made, setMade] = useState<string | null>(null)
  const input = { ...given('origin', origin ?? ''), ...given('keepOldFor', keep) }
  const rotate = async (options: ChangeOptions) => {
    setMade((await rotateSigningSecret(input, options)).secret)
    readAgain()
  }
  if (made !== null) return <NewSecret text={made} onClose={onClose} />
  const flags = [...(origin === null ? [] : [['--origin', origin]]), ['--keep-old-for', keep.trim() || KEEP]]
  return (
    <ActDialog
      title={`Rotate the signing secret of ${origin ?? 'the project'}?`}
      onClose={onClose}
      effects={[
        `A new secret signs ${requestsTo(origin)} within five seconds. It is shown once, in the next step.`,
        'Until the old secret expires, requests carry signatures of both. If it may be compromised, enter 0s.',
      ]}
      twin={{ method: 'POST', path: `${SIGNING_SECRETS_PATH}/rotate`, body: input }}
      command={shellLine([['belfry', 'signing-secret', 'rotate'], ...flags])}
      button="Rotate"
      act={rotate}
    >
      <TextField
        label="Keep the old secret for"
        description="From 0s to 30d"
        pointer="/keepOldFor"
        placeholder={KEEP}
        value={keep}
        onText={setKeep}
        data-autofocus
      />
    </ActDialog>
  )
}

interface RevokeSecretProps extends SecretDialogProps {
  readonly all: readonly SigningSecret[]
}

function RevokeSecret({ secret, all, onClose }: RevokeSecretProps) {
  const { id } = secret
  const revoke = async (options: ChangeOptions) => {
    await revokeSigningSecret(id, options)
    readAgain()
    tell({ text: 'The signing secret was revoked.' })
    onClose()
  }
  return (
    <ActDialog
      title={`Revoke the signing secret ${id}?`}
      onClose={onClose}
      effects={[
        `Within five seconds, ${afterRevoking(secret, all)}`,
        'Receivers that verify with this secret only will reject requests. The secret cannot be restored.',
      ]}
      twin={{ method: 'DELETE', path: `${SIGNING_SECRETS_PATH}/${id}` }}
      command={`belfry signing-secret revoke ${id}`}
      button="Revoke"
      isHarmful
      act={revoke}
    />
  )
}
