/** Gives a person or a group a role in the project. */
import { NativeSelect, SegmentedControl } from '@mantine/core'
import '@mantine/core/styles/SegmentedControl.css'
import '@mantine/core/styles/FloatingIndicator.css'
import { type MemberInput, membersQuery, setMember } from '../../api/members.ts'
import { queryClient } from '../../api/query-client.ts'
import { ActDialog } from '../../components/act-dialog.tsx'
import { Found } from '../../components/found.tsx'
import { useKeptFields } from '../../components/kept.ts'
import { TextField } from '../../components/text-field.tsx'
import { tell } from '../../components/toast.tsx'

type Kind = 'email' | 'group'
type Role = MemberInput['role']

const KINDS = [
  { value: 'group', label: 'Group' },
  { value: 'email', label: 'Person' },
] as const satisfies readonly { value: Kind; label: string }[]

const ROLES = [
  { value: 'viewer', label: 'Viewer: sees everything in the project' },
  { value: 'operator', label: 'Operator: also pauses, triggers, retries and cancels' },
  { value: 'editor', label: 'Editor: also creates and changes tasks' },
  { value: 'admin', label: 'Admin: also manages keys, members and settings' },
] as const satisfies readonly { value: Role; label: string }[]

interface Fields {
  readonly kind: Kind
  readonly who: string
  readonly role: Role
}

const START = (): Fields => ({ kind: 'group', who: '', role: 'viewer' })

export function MemberPanel({ onClose }: { readonly onClose: () => void }) {
  const { fields, change, isFound, startOver, forget } = useKeptFields('member', START)
  const { kind, role } = fields
  const who = fields.who.trim()
  const close = () => {
    forget()
    onClose()
  }
  const input: MemberInput = kind === 'email' ? { email: who, role } : { group: who, role }
  const go = async () => {
    await setMember(input)
    void queryClient.invalidateQueries({ queryKey: membersQuery.queryKey })
    tell({ text: `${who} has the role ${role}.` })
    close()
  }
  return (
    <ActDialog
      title="Add member"
      onClose={close}
      isReady={who !== ''}
      effects={[
        who === ''
          ? `Enter ${kind === 'email' ? 'an email address' : 'the name of a group'}.`
          : kind === 'email'
            ? `Whoever signs in with the verified address ${who} has the role ${role}.`
            : `Everyone who is in the group ${who} when they sign in has the role ${role}.`,
        'If the member exists, its role is changed.',
      ]}
      twin={{ method: 'POST', path: '/v1/members', body: input }}
      command={`belfry member add ${kind === 'email' ? who : `--group ${who}`} --role ${role}`}
      button="Add member"
      act={go}
    >
      {isFound && <Found onStartOver={startOver} />}
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
        description={
          kind === 'email'
            ? 'As the identity provider has verified it.'
            : 'As the identity provider names it in the groups claim.'
        }
        placeholder={kind === 'email' ? 'ada@example.com' : 'platform'}
        maxLength={320}
        value={fields.who}
        onText={(next) => change({ who: next })}
        data-autofocus
      />
      <NativeSelect
        label="Role"
        value={role}
        data={[...ROLES]}
        onChange={(event) => change({ role: event.currentTarget.value as Role })}
      />
    </ActDialog>
  )
}
