import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { ChangeOptions } from '../../api/client.ts'
import { MEMBER_PATHS, type Member, type MemberScope, membersQuery, removeMember } from '../../api/members.ts'
import { ActDialog } from '../../components/act-dialog.tsx'
import { Instant } from '../../components/instant.tsx'
import { tell } from '../../components/toast.tsx'
import { MemberPanel, whoOf } from './member-panel.tsx'
import { usePanel } from './panel-in-address.ts'
import { Row, SettingsList, Small } from './settings-list.tsx'

/** The people and groups with a role in the project. */
export const Members = () => <MemberList scope="project" />

/** The people and groups with a role in every project, including future ones. */
export const InstallationMembers = () => <MemberList scope="installation" />

const TITLES = { project: 'Members', installation: 'Members of all projects' } as const
const WHERE = { project: 'this project', installation: 'every project' } as const

function MemberList({ scope }: { readonly scope: MemberScope }) {
  const query = useQuery(membersQuery(scope))
  const panel = usePanel()
  const [asked, setAsked] = useState<{ readonly member: Member; readonly act: 'change' | 'remove' } | null>(
    null,
  )
  const close = () => setAsked(null)
  return (
    <SettingsList
      title={TITLES[scope]}
      query={query}
      items={query.data ?? []}
      add="Add member"
      onAdd={panel.open}
      nothing={`No members yet. Members are people or groups of your identity provider, with a role in ${WHERE[scope]}.`}
      row={(member) => (
        <Row
          key={member.id}
          name={whoOf(member)}
          about={[member.email === null ? 'Group' : 'Person']}
          acts={[
            ['Change role…', () => setAsked({ member, act: 'change' })],
            ['Remove…', () => setAsked({ member, act: 'remove' })],
          ]}
        >
          <span>{member.role}</span>
          <Small>
            added <Instant at={member.createdAt} />
            {member.createdBy !== null && ` by ${member.createdBy}`}
          </Small>
        </Row>
      )}
    >
      {panel.isOpen && <MemberPanel scope={scope} onClose={panel.close} />}
      {asked?.act === 'change' && <MemberPanel scope={scope} member={asked.member} onClose={close} />}
      {asked?.act === 'remove' && (
        <RemoveMember
          scope={scope}
          member={asked.member}
          onClose={close}
          onRemoved={() => void query.refetch()}
        />
      )}
    </SettingsList>
  )
}

interface RemoveMemberProps {
  readonly scope: MemberScope
  readonly member: Member
  readonly onClose: () => void
  readonly onRemoved: () => void
}

function RemoveMember({ scope, member, onClose, onRemoved }: RemoveMemberProps) {
  const who = whoOf(member)
  const remove = async (options: ChangeOptions) => {
    await removeMember(scope, member.id, options)
    tell({ text: `Member ${who} was removed.` })
    onRemoved()
    onClose()
  }
  return (
    <ActDialog
      title={`Remove the member ${who}?`}
      size="md"
      onClose={onClose}
      effects={[
        member.email === null
          ? 'Everyone in this group loses this role within two seconds, even those who are signed in.'
          : 'The person loses this role within two seconds, even while signed in.',
        scope === 'project'
          ? 'Their roles from other groups or from the installation are not affected.'
          : 'Their roles in individual projects are not affected.',
      ]}
      twin={{ method: 'DELETE', path: `${MEMBER_PATHS[scope]}/${member.id}` }}
      command={`belfry member remove ${member.id}${scope === 'installation' ? ' --installation' : ''}`}
      button="Remove"
      isHarmful
      act={remove}
    />
  )
}
