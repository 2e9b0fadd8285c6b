/** The signed-in user, their roles, and the ways to sign out. */
import { ActionIcon, Menu } from '@mantine/core'
import { SIGN_IN_PAGE } from '../../src/core/access/sign-in-page.ts'
import '@mantine/core/styles/Menu.css'
import '@mantine/core/styles/Popover.css'
import { type Me, signOut, signOutEverywhere } from '../api/me.ts'
import { Icon } from '../components/icon.tsx'
import { tellFailure } from '../components/toast.tsx'
import { nameOf, roleWords } from './role-words.ts'
import classes from './user-menu.module.css'

export function UserMenu({ me }: { readonly me: Me }) {
  const name = nameOf(me)
  return (
    <Menu
      withinPortal={false}
      transitionProps={{ duration: 0 }}
      position="bottom-end"
      returnFocus
      // Without this, Mantine adds an element to the menu that is not a menu item.
      withInitialFocusPlaceholder={false}
    >
      <Menu.Target>
        <ActionIcon variant="default" size="lg" aria-label={`Signed in as ${name}`} title={name}>
          <Icon name={me.kind === 'key' ? 'key' : 'person'} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <div className={classes.who}>
          <strong>{name}</strong>
          {me.kind === 'key' && <span>API key</span>}
          {me.name !== null && me.name !== name && <span>{me.name}</span>}
          <span>{roleWords(me)}</span>
        </div>
        <Menu.Divider />
        <Menu.Item onClick={() => leave(signOut)}>Sign out</Menu.Item>
        <Menu.Item onClick={() => leave(signOutEverywhere)}>Sign out everywhere</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}

/** The page is reloaded, so that no data stays in memory. */
export async function leave(how: () => Promise<unknown>): Promise<void> {
  try {
    await how()
    window.location.assign(SIGN_IN_PAGE)
  } catch (error) {
    tellFailure(error)
  }
}
