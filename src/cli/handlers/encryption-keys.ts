/** The keys that secrets are encrypted with. */
import type { EncryptionKeys, KeyRotation } from '../../api/resources/secrets/schemas.ts'
import { newKey } from '../../core/secret/key-ring.ts'
import { printable } from '../../core/values/printable.ts'
import { type ClientFlags, give, remark, serverFrom, write } from '../client/output.ts'
import { counted, countWords, table } from '../client/printed.ts'
import { onStdout as c } from '../terminal.ts'

const PATH = '/v1/secrets-key'

export async function listKeys(flags: ClientFlags): Promise<void> {
  const listed = await serverFrom(flags).get<EncryptionKeys>(PATH)
  const { keys, nodes, unencrypted } = listed
  if (keys.length === 0 && !flags.json)
    return remark('No node has a key, so secrets cannot be stored.\ntry:   belfry secret make-key\n')
  give(listed, flags, () => {
    const known = table(
      ['KEY', 'VALUES', 'FIRST ON', 'HELD BY'],
      keys.map(({ fingerprint, isInUse, values, firstOn, heldBy }) => {
        const on = `${heldBy} of ${nodes.length} nodes`
        const held = heldBy < nodes.length ? c.yellow(on) : on
        return [fingerprint, isInUse ? countWords(values) : '–', String(firstOn), held]
      }),
    )
    const holders = table(
      ['NODE', 'SECRETS', 'KEYS', 'MISSING'],
      nodes.map(({ name, secrets, keys, missing }) => [
        printable(name),
        secrets === 'ready' ? secrets : c.yellow(secrets ?? 'unknown'),
        keys === null ? 'unknown' : keys.join(', ') || 'none',
        missing?.length === 0 ? '–' : c.yellow(missing?.join(', ') ?? 'unknown'),
      ]),
    )
    const plain =
      unencrypted.count === 0 ? '' : `\nsigning secrets stored unencrypted: ${countWords(unencrypted)}\n`
    return `${known}\n${holders}${plain}`
  })
}

export async function rotateKey(flags: ClientFlags): Promise<void> {
  const rotation = await serverFrom(flags).post<KeyRotation>(`${PATH}/rotate`)
  const { key, encrypted, unreadable, retired } = rotation
  give(rotation, flags, () => {
    const rest =
      unreadable === 0
        ? ''
        : `${c.yellow('!')} ${counted(unreadable, 'value')} could not be decrypted: damaged, or the node lacks the key\n`
    const unused = retired.length === 0 ? '' : `Keys that can be removed: ${retired.join(', ')}\n`
    return `${c.green('✓')} all secrets are encrypted with key ${key} (${counted(encrypted, 'value')} re-encrypted)\n${rest}${unused}`
  })
}

export const makeKey = (): void => write(`${newKey()}\n`)
