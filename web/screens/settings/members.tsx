import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { isAdmin, meQuery } from '../../api/me.ts'
import { type Member, membersQuery, removeMember } from '../../api/members.ts'
import { ActDialog } from '../../components/act-dialog.tsx'
import { Failure } from '../../components/failure.tsx'
import { Icon } from '../../components/icon.tsx'
import { Instant } from '../../components/instant.tsx'
import { Bones, Panel } from '../../components/panel.tsx'
import { tell } from '../../components/toast.tsx'
import classes from './settings.module.css'

/** Which people and groups have a role in the project; for administrators. On a server without keys nobody needs a role. */
export function Members({ onAdd }: { readonly onAdd: () => void }) {
  const { data: me } = useQuery(meQuery)
  return me && isAdmin(me) && me.kind !== 'anonymous' ? <MemberList onAdd={onAdd} /> : null
}

function MemberList({ onAdd }: { readonly onAdd: () => void }) {
  const { data: members, error, refetch } = useQuery(membersQuery)
  const [asked, setAsked] = useState<Member | null>(null)
  const add = (
    <Button size="xs" variant="default" leftSection={<Icon name="plus" size={14} />} onClick={onAdd}>
      Add member
    </Button>
  )
  return (
    <Panel title="Members" aside={add} flush>
      {error && !members && <Failure error={error} onRetry={() => void refetch()} />}
      {!members && !error && <Bones count={1} />}
      {members?.length === 0 && (
        <p className={classes.nothing}>
          No members yet. Members are people or groups of your identity provider, with a role in this project.
        </p>
      )}
      <ul aria-label="Members">
        {members?.map((member) => (
          <MemberRow key={member.id} member={member} onRemove={() => setAsked(member)} />
        ))}
      </ul>
      {asked && (
        <RemoveMember member={asked} onClose={() => setAsked(null)} onRemoved={() => void refetch()} />
      )}
    </Panel>
  )
}

export const whoOf = ({ email, group }: Pick<Member, 'email' | 'group'>): string => email ?? group ?? ''

interface MemberRowProps {
  readonly member: Member
  readonly onRemove: () => void
}

function MemberRow({ member, onRemove }: MemberRowProps) {
  const { email, role, createdAt, createdBy } = member
  return (
    <li className={`${classes.row} ${classes.member}`}>
      <div className={classes.main}>
        <strong className={classes.words}>{whoOf(member)}</strong>
        <span className={classes.small}>{email === null ? 'Group' : 'Person'}</span>
      </div>
      <span>{role}</span>
      <span className={classes.small}>
        added <Instant at={createdAt} />
        {createdBy === null ? '' : ` by ${createdBy}`}
      </span>
      <Button size="xs" variant="default" onClick={onRemove} aria-label={`Remove ${whoOf(member)}`}>
        Remove…
      </Button>
    </li>
  )
}

interface RemoveMemberProps {
  readonly member: Member
  readonly onClose: () => void
  readonly onRemoved: () => void
}

function RemoveMember({ member, onClose, onRemoved }: RemoveMemberProps) {
  const who = whoOf(member)
  const remove = async () => {
    await removeMember(member.id)
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
          ? 'Everyone in this group loses this role within two seconds, also those who are signed in.'
          : 'The person loses this role within two seconds, even while signed in.',
        'Roles that other members or the installation give them stay.',
      ]}
      twin={{ method: 'DELETE', path: `/v1/members/${member.id}` }}
      command={`belfry member remove ${member.id}`}
      button="Remove"
      keep="Cancel"
      isHarmful
      act={remove}
    />
  )
}
