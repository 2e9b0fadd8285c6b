/** Creates a signing secret, and shows it once. */
import { useState } from 'react'
import type { ChangeOptions } from '../../api/client.ts'
import { queryClient } from '../../api/query-client.ts'
import { createSigningSecret, SIGNING_SECRETS_PATH, signingSecretsQuery } from '../../api/signing-secrets.ts'
import { ActDialog } from '../../components/act-dialog.tsx'
import { useKeptFields } from '../../components/kept.ts'
import { shellLine } from '../../components/shell.ts'
import { TextField } from '../../components/text-field.tsx'
import { given } from '../../components/typed.ts'
import { ShownOnce } from './shown-once.tsx'
import { requestsTo } from './signing-words.ts'

const START = () => ({ origin: '' })

export function SigningSecretPanel({ onClose }: { readonly onClose: () => void }) {
  const kept = useKeptFields('signing-secret', START)
  const { fields, change } = kept
  const [made, setMade] = useState<string | null>(null)
  const input = given('origin', fields.origin)
  const create = async (options: ChangeOptions) => {
    const { secret } = await createSigningSecret(input, options)
    void queryClient.invalidateQueries({ queryKey: signingSecretsQuery.queryKey })
    setMade(secret)
  }
  if (made !== null) return <NewSecret text={made} onClose={onClose} />
  const { origin = null } = input
  return (
    <ActDialog
      title="New signing secret"
      onClose={onClose}
      kept={kept}
      effects={[
        `Within five seconds, it signs ${requestsTo(origin)}.`,
        'An existing secret continues to sign as well. At most two secrets can be in use.',
        'The secret is shown once, in the next step.',
      ]}
      twin={{ method: 'POST', path: SIGNING_SECRETS_PATH, body: input }}
      command={shellLine([
        ['belfry', 'signing-secret', 'create'],
        ...(origin === null ? [] : [['--origin', origin]]),
      ])}
      button="Create secret"
      act={create}
    >
      <TextField
        label="Origin"
        description="Scheme, host and port. Leave empty for all origins without their own secrets."
        placeholder="https://hooks.example.com"
        pointer="/origin"
        type="url"
        maxLength={300}
        value={fields.origin}
        onText={(origin) => change({ origin })}
        data-autofocus
      />
    </ActDialog>
  )
}

/** Shows a new secret. */
export function NewSecret({ text, onClose }: { readonly text: string; readonly onClose: () => void }) {
  return (
    <ShownOnce
      title="Signing secret"
      label="Secret"
      words="Give it to the receivers, which verify signatures with it."
      text={text}
      onClose={onClose}
    />
  )
}
