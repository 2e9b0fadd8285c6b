import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { formatCount } from '../../../src/core/words/time.ts'
import type { ChangeOptions } from '../../api/client.ts'
import { signInMethodsQuery } from '../../api/me.ts'
import { type Person, peopleQuery, signOutPerson } from '../../api/members.ts'
import { itemsOf } from '../../api/pages.ts'
import { ActDialog } from '../../components/act-dialog.tsx'
import { Instant } from '../../components/instant.tsx'
import { shellLine } from '../../components/shell.ts'
import { tell } from '../../components/toast.tsx'
import { Row, SettingsList, Small } from './settings-list.tsx'

const nameOf = ({ email, name, subject }: Person): string => email ?? name ?? subject
const sessionWords = (count: number): string =>
  count === 1 ? '1 session' : `${count === 0 ? 'no' : formatCount(count)} sessions`

/** Everyone who has signed in with a company account, newest first. */
export function People() {
  const query = useInfiniteQuery(peopleQuery)
  const [asked, setAsked] = useState<Person | null>(null)
  return (
    <SettingsList
      title="People"
      query={query}
      items={itemsOf(query.data)}
      nothing={<NobodyYet />}
      row={(person) => (
        <Row
          key={person.id}
          name={nameOf(person)}
          about={[
            ...(person.name !== null && person.name !== nameOf(person) ? [person.name] : []),
            ...(person.groups.length === 0 ? [] : [`Groups: ${person.groups.join(', ')}`]),
          ]}
          acts={[person.sessions > 0 && ['Sign out…', () => setAsked(person)]]}
        >
          <span>{person.sessions === 0 ? 'not signed in' : sessionWords(person.sessions)}</span>
          <Small>
            last sign-in <Instant at={person.signedInAt} />
          </Small>
        </Row>
      )}
    >
      {asked && <SignOut person={asked} onClose={() => setAsked(null)} onDone={() => void query.refetch()} />}
    </SettingsList>
  )
}

/** Says what is missing, if that is known. */
export function NobodyYet() {
  const { data: methods } = useQuery(signInMethodsQuery)
  if (methods && methods.openid === null)
    return (
      <p>
        Signing in with a company account is not set up on this server. Start its api nodes with{' '}
        <code>--oidc-issuer</code>, <code>--oidc-client-id</code> and <code>--public-url</code>.
      </p>
    )
  return <p>No one has signed in with a company account yet.</p>
}

interface SignOutProps {
  readonly person: Person
  readonly onClose: () => void
  readonly onDone: () => void
}

function SignOut({ person, onClose, onDone }: SignOutProps) {
  const name = nameOf(person)
  const signOut = async (options: ChangeOptions) => {
    const { sessions } = await signOutPerson(person.id, options)
    onDone()
    tell({ text: `${name} was signed out: ${sessionWords(sessions)} ended.` })
    onClose()
  }
  return (
    <ActDialog
      title={`Sign out ${name} everywhere?`}
      size="md"
      onClose={onClose}
      effects={[
        `Within two seconds ${sessionWords(person.sessions)} end, on all nodes.`,
        'The person can sign in again for as long as the identity provider allows it. To prevent this, remove them there first.',
      ]}
      twin={{ method: 'POST', path: `/v1/people/${person.id}/sign-out` }}
      command={shellLine([['belfry', 'person', 'sign-out', person.id]])}
      button="Sign out"
      isHarmful
      act={signOut}
    />
  )
}
