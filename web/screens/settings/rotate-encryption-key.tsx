/** Encrypts everything with the first key, and says what it came to: which keys can be removed is not told again. */
import { Button } from '@mantine/core'
import { useState } from 'react'
import type { ChangeOptions } from '../../api/client.ts'
import {
  type EncryptionKeys,
  encryptionKeysQuery,
  type KeyRotation,
  ROTATE_PATH,
  rotateEncryptionKey,
} from '../../api/encryption-keys.ts'
import { queryClient } from '../../api/query-client.ts'
import { ActDialog } from '../../components/act-dialog.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { forecastOf, rotationWords } from './encryption-words.ts'
import classes from './settings.module.css'

interface RotateEncryptionKeyProps {
  readonly listed: EncryptionKeys
  readonly onClose: () => void
}

export function RotateEncryptionKey({ listed, onClose }: RotateEncryptionKeyProps) {
  const [done, setDone] = useState<KeyRotation | null>(null)
  const { effects, isHarmful } = forecastOf(listed)
  const rotate = async (options: ChangeOptions) => {
    setDone(await rotateEncryptionKey(options))
    void queryClient.invalidateQueries({ queryKey: encryptionKeysQuery.queryKey })
  }
  if (done !== null) return <Rotated rotation={done} onClose={onClose} />
  return (
    <ActDialog
      title="Rotate the encryption key?"
      onClose={onClose}
      effects={effects}
      twin={{ method: 'POST', path: ROTATE_PATH }}
      command="belfry secret rotate-key"
      button="Rotate"
      isHarmful={isHarmful}
      act={rotate}
    />
  )
}

interface RotatedProps {
  readonly rotation: KeyRotation
  readonly onClose: () => void
}

function Rotated({ rotation, onClose }: RotatedProps) {
  return (
    <Dialog title="Encryption key rotated" onClose={onClose}>
      <div className={classes.once}>
        {rotationWords(rotation).map((line) => (
          <p key={line}>{line}</p>
        ))}
        <div className={classes.onceButtons}>
          <Button onClick={onClose} data-autofocus>
            Done
          </Button>
        </div>
      </div>
    </Dialog>
  )
}
