/** Sets the value of a secret. The typed value is not stored anywhere in the browser or the address. */
import { useState } from 'react'
import {
  MAX_SECRET_CHARACTERS,
  SECRET_NAME,
  SECRET_NAME_RULE,
} from '../../../src/core/secret/secret-reference.ts'
import type { ChangeOptions } from '../../api/client.ts'
import { queryClient } from '../../api/query-client.ts'
import { secretsQuery, setSecret } from '../../api/secrets.ts'
import { ActDialog } from '../../components/act-dialog.tsx'
import { TextField } from '../../components/text-field.tsx'
import { tell } from '../../components/toast.tsx'
import { sentValue } from './secret-value.ts'
import { ValueField } from './value-field.tsx'

interface SecretPanelProps {
  /** The secret to change; undefined for a new one. */
  readonly name?: string
  readonly onClose: () => void
}

export function SecretPanel({ name: given, onClose }: SecretPanelProps) {
  const [typed, setTyped] = useState(given ?? '')
  const [typedValue, setValue] = useState('')
  const value = sentValue(typedValue)
  const name = typed.trim()
  const isName = SECRET_NAME.test(name)
  const go = async (options: ChangeOptions) => {
    const { version } = await setSecret(name, value, options)
    void queryClient.invalidateQueries({ queryKey: secretsQuery.queryKey })
    tell({ text: version === 1 ? `Secret ${name} was created.` : `Secret ${name} has a new value.` })
    onClose()
  }
  return (
    <ActDialog
      title={given === undefined ? 'New secret' : `New value of ${given}`}
      onClose={onClose}
      isReady={isName && value !== '' && value.length <= MAX_SECRET_CHARACTERS}
      effects={[
        isName ? `Tasks use it as {{secret.${name}}}.` : 'Enter a name and a value.',
        'Attempts that start from now on use the new value. The value cannot be read again.',
      ]}
      twin={{ method: 'PUT', path: `/v1/secrets/${name || 'NAME'}`, body: { value: '…' } }}
      command={`belfry secret set ${name || 'NAME'}`}
      button={given === undefined ? 'Save secret' : 'Set value'}
      act={go}
    >
      {given === undefined && (
        <TextField
          label="Name"
          placeholder="API_TOKEN"
          maxLength={100}
          value={typed}
          onText={setTyped}
          error={name !== '' && !isName ? `It ${SECRET_NAME_RULE}.` : undefined}
          data-autofocus
        />
      )}
      <ValueField value={typedValue} onValue={setValue} isFirst={given !== undefined} />
    </ActDialog>
  )
}
