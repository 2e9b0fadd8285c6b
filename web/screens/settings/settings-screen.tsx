/** Settings for all tasks of the project: limits, blackouts, subscriptions, secrets, members and keys; and the projects themselves. */
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import type { SettingsPanel } from '../../app/router.tsx'
import { useTitle } from '../../components/title.ts'
import { BlackoutPanel } from './blackout-panel.tsx'
import { Blackouts } from './blackouts.tsx'
import { KeyPanel } from './key-panel.tsx'
import { Keys } from './keys.tsx'
import { Limits } from './limits.tsx'
import { MemberPanel } from './member-panel.tsx'
import { Members } from './members.tsx'
import { ProjectPanel } from './project-panel.tsx'
import { Projects } from './projects.tsx'
import { SecretPanel } from './secret-panel.tsx'
import { Secrets } from './secrets.tsx'
import classes from './settings.module.css'
import { SubscriptionPanel } from './subscription-panel.tsx'
import { Subscriptions } from './subscriptions.tsx'

const route = getRouteApi('/settings')

export function SettingsScreen() {
  useTitle('Settings')
  const { panel } = route.useSearch()
  const navigate = useNavigate()
  // What is open is in the address; undefined takes it out.
  const open = (opened: SettingsPanel | undefined) =>
    void navigate({
      to: '.',
      search: (before: Record<string, unknown>) => ({ ...before, panel: opened }) as never,
      replace: opened === undefined,
      resetScroll: false,
    })
  const close = () => open(undefined)
  return (
    <div className={classes.screen}>
      <div className={classes.head}>
        <h1>Settings</h1>
        <Link to="/audit-log">Audit log</Link>
      </div>
      <Limits />
      <Blackouts onAdd={() => open('blackout')} />
      <Subscriptions onAdd={() => open('subscription')} />
      <Secrets onAdd={() => open('secret')} />
      <Members onAdd={() => open('member')} />
      <Keys onAdd={() => open('key')} />
      <Projects onAdd={() => open('project')} />
      {panel === 'blackout' && <BlackoutPanel onClose={close} />}
      {panel === 'subscription' && <SubscriptionPanel onClose={close} />}
      {panel === 'secret' && <SecretPanel onClose={close} />}
      {panel === 'member' && <MemberPanel onClose={close} />}
      {panel === 'key' && <KeyPanel onClose={close} />}
      {panel === 'project' && <ProjectPanel onClose={close} />}
    </div>
  )
}
