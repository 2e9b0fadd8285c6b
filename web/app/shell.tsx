/** The frame around every screen: navigation, project, time zone, live state and user. */
import {
  ActionIcon,
  Button,
  NativeSelect,
  useComputedColorScheme,
  useMantineColorScheme,
} from '@mantine/core'
import { Notifications } from '@mantine/notifications'
import { useQuery } from '@tanstack/react-query'
import { Link, Outlet, useNavigate, useSearch } from '@tanstack/react-router'
import { lazy, Suspense, useState } from 'react'
import { meQuery } from '../api/me.ts'
import { Hatching } from '../components/hatching.tsx'
import { Icon, type IconName } from '../components/icon.tsx'
import { myZone, ZONE_MODES, type ZoneMode } from '../time/zone.ts'
import { useLiveState, useStream } from './live.ts'
import { LiveDot } from './live-dot.tsx'
import { ProjectSwitch } from './project-switch.tsx'
import classes from './shell.module.css'
import { useGlobalShortcuts } from './shortcuts.ts'
import { beginTyping } from './typed-ahead.ts'

const Palette = lazy(() => import('./palette.tsx').then(({ Palette }) => ({ default: Palette })))
const ShortcutList = lazy(() =>
  import('./shortcut-list.tsx').then(({ ShortcutList }) => ({ default: ShortcutList })),
)

const UserMenu = lazy(() => import('./user-menu.tsx').then(({ UserMenu }) => ({ default: UserMenu })))

const PLACES = [
  { to: '/', label: 'Overview', icon: 'overview' },
  { to: '/tasks', label: 'Tasks', icon: 'tasks' },
  { to: '/runs', label: 'Runs', icon: 'runs' },
  { to: '/dead-letters', label: 'Dead letters', icon: 'dead' },
  { to: '/queues', label: 'Queues', icon: 'queues' },
  { to: '/files', label: 'Files', icon: 'file' },
  { to: '/targets', label: 'Targets', icon: 'targets' },
  { to: '/nodes', label: 'Nodes', icon: 'nodes' },
  { to: '/settings', label: 'Settings', icon: 'settings' },
] as const satisfies readonly { to: string; label: string; icon: IconName }[]

const TOASTS_SHOWN = 3

type Open = 'palette' | 'shortcuts' | null

export function Shell() {
  useStream()
  const [open, setOpen] = useState<Open>(null)
  const openPalette = () => {
    if (open === 'palette') return
    beginTyping()
    setOpen('palette')
  }
  useGlobalShortcuts({
    onPalette: openPalette,
    onHelp: () => setOpen('shortcuts'),
  })
  const close = () => setOpen(null)
  return (
    <>
      <Hatching />
      <a className={classes.skip} href="#content">
        Skip to content
      </a>
      <header className={classes.header}>
        <div className={classes.bar}>
          <Link to="/" className={classes.brand} aria-label="Belfry">
            <Icon name="bell" size={22} />
            <span>Belfry</span>
          </Link>
          <ProjectSwitch />
          <div className={classes.tools}>
            <LiveDot />
            <ZoneSwitch />
            <ActionIcon
              variant="default"
              size="lg"
              aria-label="Search and commands"
              aria-keyshortcuts="Control+K Meta+K"
              onClick={openPalette}
            >
              <Icon name="search" />
            </ActionIcon>
            <SchemeSwitch />
            <SignedIn />
            <NewTaskButton />
          </div>
        </div>
        <Places />
        <Offline />
      </header>
      <main id="content" className={classes.main} tabIndex={-1}>
        <Outlet />
      </main>
      <Notifications position="bottom-right" limit={TOASTS_SHOWN} />
      <Suspense>
        {open === 'palette' && <Palette onClose={close} />}
        {open === 'shortcuts' && <ShortcutList onClose={close} />}
      </Suspense>
    </>
  )
}

/** The signed-in user and the way to sign out. On a server without keys nobody is signed in. */
function SignedIn() {
  const { data: me } = useQuery(meQuery)
  if (!me || me.kind === 'anonymous') return null
  return (
    <Suspense fallback={<span className={classes.icon} />}>
      <UserMenu me={me} />
    </Suspense>
  )
}

function Offline() {
  const state = useLiveState()
  if (state !== 'offline') return null
  return (
    <p className={classes.offline}>
      The server is not responding. The data shown may be out of date. Reconnecting…
    </p>
  )
}

/** Nodes serve all projects, so only users with a role in the whole installation see them. */
function Places() {
  const { data: me } = useQuery(meQuery)
  const places = PLACES.filter(({ to }) => to !== '/nodes' || me?.installationRole !== null)
  return (
    <nav className={classes.places} aria-label="Main">
      {places.map(({ to, label, icon }) => (
        <Link
          key={to}
          to={to}
          className={classes.place}
          activeOptions={{ exact: to === '/', includeSearch: false }}
        >
          <Icon name={icon} />
          <span>{label}</span>
        </Link>
      ))}
    </nav>
  )
}

const MODE_WORDS: Readonly<Record<ZoneMode, string>> = { task: 'Task zone', mine: 'My zone', utc: 'UTC' }

function ZoneSwitch() {
  const navigate = useNavigate()
  const { tz = 'task' } = useSearch({ strict: false }) as { tz?: ZoneMode }
  const choose = (mode: string) =>
    void navigate({
      to: '.',
      // Undefined removes the parameter; leaving it out would keep it.
      search: (previous: Record<string, unknown>) =>
        ({ ...previous, tz: mode === 'task' ? undefined : mode }) as never,
      replace: true,
    })
  return (
    <NativeSelect
      className={classes.zone}
      size="sm"
      aria-label="Show times in"
      title={`Your time zone is ${myZone()}`}
      value={tz}
      onChange={(event) => choose(event.currentTarget.value)}
      data={ZONE_MODES.map((mode) => ({ value: mode, label: MODE_WORDS[mode] }))}
    />
  )
}

function SchemeSwitch() {
  const { setColorScheme } = useMantineColorScheme()
  const shown = useComputedColorScheme('light')
  const other = shown === 'dark' ? 'light' : 'dark'
  return (
    <ActionIcon
      variant="default"
      size="lg"
      aria-label={`Switch to ${other}`}
      onClick={() => setColorScheme(other)}
    >
      <Icon name={other === 'dark' ? 'moon' : 'sun'} />
    </ActionIcon>
  )
}

function NewTaskButton() {
  return (
    <Button
      renderRoot={(props) => <Link to="/tasks/new" {...props} />}
      leftSection={<Icon name="plus" size={16} />}
      className={classes.newTask}
      aria-label="New task"
    >
      New task
    </Button>
  )
}
