/** Shown to a user who signed in through the provider but has no role yet. */
import { Button } from '@mantine/core'
import { type Me, signOut } from '../api/me.ts'
import { CodeBlock } from '../components/panel.tsx'
import { useTitle } from '../components/title.ts'
import classes from './no-role.module.css'
import { nameOf } from './role-words.ts'
import { leave } from './user-menu.tsx'

export function NoRole({ me }: { readonly me: Me }) {
  useTitle('No access yet')
  const name = nameOf(me)
  return (
    <main className={classes.box}>
      <h1>You have no access yet</h1>
      <p>
        You are signed in as <strong>{name}</strong>, but no project has given you or one of your groups a
        role. Ask an admin of Belfry to add you:
      </p>
      <CodeBlock
        label="Command for the admin"
        text={`belfry member add ${me.email ?? '--group GROUP'} --role viewer`}
      />
      {me.email === null && (
        <p className={classes.small}>
          Your identity provider does not confirm an email address for you, so only a group can give you a
          role.
        </p>
      )}
      <p className={classes.small}>
        Groups are read when you sign in. If your groups have changed, sign out and sign in again.
      </p>
      <div className={classes.buttons}>
        <Button onClick={() => window.location.reload()}>Try again</Button>
        <Button variant="default" onClick={() => void leave(signOut)}>
          Sign out
        </Button>
      </div>
    </main>
  )
}
