/** The settings of the project and the installation, one section at a time. The address names the section. */
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { neededRole } from '../../../src/core/access/role.ts'
import { meQuery, shownProject, useMay } from '../../api/me.ts'
import type { SettingsSection } from '../../app/settings-sections.ts'
import { Nothing } from '../../components/nothing.tsx'
import { Screen } from '../../components/screen.tsx'
import { OF_INSTALLATION, OF_PROJECT, SECTIONS } from './sections.tsx'
import classes from './settings.module.css'

const route = getRouteApi('/settings/$section')

export function SettingsScreen() {
  const { section } = route.useParams()
  const { data: me } = useQuery(meQuery)
  const shown = SECTIONS[section]
  const may = useMay()
  return (
    <Screen title="Settings">
      <div className={classes.screen}>
        <nav className={classes.nav} aria-label="Settings">
          <Group label={`Project ${shownProject(me)}`} sections={OF_PROJECT} />
          <Group label="Installation" sections={OF_INSTALLATION} />
        </nav>
        {me &&
          shown &&
          (may(shown.needs) ? (
            <shown.Content />
          ) : (
            <Nothing words={`You need the role ${neededRole(shown.needs)} to see this section.`} />
          ))}
      </div>
    </Screen>
  )
}

function Group({ label, sections }: { readonly label: string; readonly sections: typeof SECTIONS }) {
  const may = useMay()
  return (
    <div>
      <p className={classes.group}>{label}</p>
      <ul>
        {Object.entries(sections).map(([section, { label, needs }]) =>
          may(needs) ? (
            <li key={section}>
              <Link
                to="/settings/$section"
                params={{ section: section as SettingsSection }}
                className={classes.link}
                activeOptions={{ includeSearch: false }}
              >
                {label}
              </Link>
            </li>
          ) : null,
        )}
        {sections === OF_PROJECT && may('administer') && (
          <li>
            <Link to="/audit-log" className={classes.link}>
              Audit log
            </Link>
          </li>
        )}
      </ul>
    </div>
  )
}
