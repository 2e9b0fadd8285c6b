/** Deletes a secret after showing what uses it. While something does, deleting it needs a second decision. */
import { Checkbox } from '@mantine/core'
import '@mantine/core/styles/Checkbox.css'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { ChangeOptions } from '../../api/client.ts'
import { deleteSecret, pathOfSecret, type SecretInUse, secretQuery } from '../../api/secrets.ts'
import { ActDialog } from '../../components/act-dialog.tsx'
import { shellLine } from '../../components/shell.ts'
import { tell } from '../../components/toast.tsx'
import { deletionOf } from './secret-use.ts'
import classes from './settings.module.css'

interface DeleteSecretProps {
  readonly name: string
  readonly onClose: () => void
  readonly onDeleted: () => void
}

export function DeleteSecret({ name, onClose, onDeleted }: DeleteSecretProps) {
  const { data: secret, error, refetch } = useQuery(secretQuery(name))
  const [isForced, setForced] = useState(false)
  const { users, effect, isReady } = deletionOf(secret, { isForced, isUnread: error !== null })
  const remove = async (options: ChangeOptions) => {
    try {
      await deleteSecret(name, { isForced, ...options })
    } catch (failure) {
      // Something may have begun to use it.
      void refetch()
      throw failure
    }
    tell({ text: `Secret ${name} was deleted.` })
    onDeleted()
    onClose()
  }
  return (
    <ActDialog
      title={`Delete the secret ${name}?`}
      size="md"
      onClose={onClose}
      isReady={isReady}
      effects={[effect, 'Its value cannot be restored.']}
      twin={{ method: 'DELETE', path: pathOfSecret(name, { isForced }) }}
      command={shellLine([['belfry', 'secret', 'delete', name], isForced ? ['--force'] : []])}
      button="Delete"
      isHarmful
      act={remove}
    >
      {secret && users !== null && (
        <>
          <div>
            <p>{users}</p>
            <Users {...secret} />
          </div>
          <Checkbox
            label="Delete it although it is used"
            checked={isForced}
            onChange={(event) => setForced(event.currentTarget.checked)}
          />
        </>
      )}
    </ActDialog>
  )
}

function Users({ usedBy, isInMail, hasMoreUsers }: SecretInUse) {
  return (
    <ul className={classes.users} aria-label="Used by">
      {isInMail && (
        <li>
          <Link to="/settings/$section" params={{ section: 'mail' }}>
            mail settings
          </Link>
        </li>
      )}
      {usedBy.map(({ id, name, key }) => (
        <li key={id}>
          <Link to="/tasks/$taskId" params={{ taskId: id }}>
            {name ?? key ?? id}
          </Link>
        </li>
      ))}
      {hasMoreUsers && <li>and possibly others</li>}
    </ul>
  )
}
