/** Gives a role to a person or a group, or changes it. */
import { SegmentedControl } from '@mantine/core'
import '@mantine/core/styles/SegmentedControl.css'
import '@mantine/core/styles/FloatingIndicator.css'
import type { ChangeOptions } from '../../api/client.ts'
import {
  MEMBER_PATHS,
  type Member,
  type MemberInput,
  type MemberScope,
  membersQuery,
  setMember,
} from '../../api/members.ts'
import { queryClient } from '../../api/query-client.ts'
import { ActDialog } from '../../components/act-dialog.tsx'
import { useKeptFields } from '../../components/kept.ts'
import { shellLine } from '../../components/shell.ts'
import { TextField } from '../../components/text-field.tsx'
import { tell } from '../../components/toast.tsx'
import { RoleField } from './role-field.tsx'

type Kind = 'email' | 'group'

const KINDS = [
  { value: 'group', label: 'Group' },
  { value: 'email', label: 'Person' },
] as const satisfies readonly { value: Kind; label: string }[]

const ROLES = ['viewer', 'operator', 'editor', 'admin'] as const

interface Fields {
  readonly kind: Kind
  readonly who: string
  readonly role: MemberInput['role']
}

export const whoOf = ({ email, group }: Pick<Member, 'email' | 'group'>): string => email ?? group ?? ''

const startOf = (member: Member | undefined): Fields =>
  member === undefined
    ? { kind: 'group', who: '', role: 'viewer' }
    : { kind: member.email === null ? 'group' : 'email', who: whoOf(member), role: member.role }

interface MemberPanelProps {
  readonly scope: MemberScope
  /** The member to change; undefined for a new one. */
  readonly member?: Member
  readonly onClose: () => void
}

export function MemberPanel({ scope, member, onClose }: MemberPanelProps) {
  const kept = useKeptFields(`member ${scope} ${member?.id ?? ''}`, () => startOf(member))
  const { fields, change } = kept
  const { kind, role } = fields
  const who = fields.who.trim()
  const input: MemberInput = kind === 'email' ? { email: who, role } : { group: who, role }
  const go = async (options: ChangeOptions) => {
    await setMember(scope, input, options)
    void queryClient.invalidateQueries({ queryKey: membersQuery(scope).queryKey })
    tell({ text: `${who} has the role ${role}.` })
    onClose()
  }
  const gets = `has the role ${role}${scope === 'installation' ? ' in every project' : ''}`
  return (
    <ActDialog
      title={member === undefined ? 'Add member' : `Role of ${who}`}
      onClose={onClose}
      kept={kept}
      isReady={who !== '' && role !== member?.role}
      effects={[
        who === ''
          ? `Enter ${kind === 'email' ? 'an email address' : 'the name of a group'}.`
          : kind === 'email'
            ? `Anyone who signs in with the verified address ${who} ${gets}.`
            : `Everyone who is in the group ${who} when they sign in ${gets}.`,
        member === undefined
          ? 'If the member exists, its role is changed.'
          : 'The change takes effect within two seconds, even for people who are signed in.',
      ]}
      twin={{ method: 'POST', path: MEMBER_PATHS[scope], body: input }}
      command={shellLine([
        ['belfry', 'member', 'add', ...(kind === 'email' ? [who] : ['--group', who])],
        ['--role', role],
        scope === 'installation' ? ['--installation'] : [],
      ])}
      button={member === undefined ? 'Add member' : 'Change role'}
      act={go}
    >
      {member === undefined && (
        <>
          <SegmentedControl
            aria-label="Kind of member"
            fullWidth
            value={kind}
            data={[...KINDS]}
            onChange={(next) => change({ kind: next })}
            transitionDuration={0}
          />
          <TextField
            label={kind === 'email' ? 'Email address' : 'Group'}
            pointer={`/${kind}`}
            description={
              kind === 'email'
                ? 'The address that the identity provider has verified.'
                : 'The name of the group in the groups claim of the identity provider.'
            }
            placeholder={kind === 'email' ? 'ada@example.com' : 'platform'}
            maxLength={320}
            value={fields.who}
            onText={(next) => change({ who: next })}
            data-autofocus
          />
        </>
      )}
      <RoleField roles={ROLES} value={role} onRole={(next) => change({ role: next })} />
    </ActDialog>
  )
}
