import { NativeSelect } from '@mantine/core'
import type { Role } from '../../../src/core/access/role.ts'

const ROLE_WORDS: Readonly<Record<Role, string>> = {
  viewer: 'Viewer: reads',
  operator: 'Operator: also pauses, triggers, reruns and cancels',
  editor: 'Editor: also creates and changes tasks',
  admin: 'Admin: also manages keys, members and settings',
  worker: 'Worker: registers workers, and nothing else',
}

interface RoleFieldProps<R extends Role> {
  readonly roles: readonly R[]
  readonly value: R
  readonly onRole: (role: R) => void
}

/** Chooses the role of a member or a key. */
export function RoleField<R extends Role>({ roles, value, onRole }: RoleFieldProps<R>) {
  return (
    <NativeSelect
      label="Role"
      value={value}
      data={roles.map((role) => ({ value: role, label: ROLE_WORDS[role] }))}
      onChange={(event) => onRole(event.currentTarget.value as R)}
    />
  )
}
