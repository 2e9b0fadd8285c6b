import { NativeSelect } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { chooseProject, chosenProject } from '../api/chosen-project.ts'
import { meQuery } from '../api/me.ts'
import { MOST_CHOICES, projectsQuery } from '../api/projects.ts'
import classes from './shell.module.css'

/** Cannot be the name of a project. */
const ALL = '…'

/** Chooses the shown project, for users with access to several. */
export function ProjectSwitch() {
  const { data: me } = useQuery(meQuery)
  const { data: projects } = useQuery(projectsQuery)
  const chosen = chosenProject()
  const shown = chosen ?? me?.project ?? null
  const navigate = useNavigate()
  if (!projects || shown === null) return null
  const names = projects.map(({ name }) => name)
  const isListed = names.includes(shown)
  if (isListed && names.length < 2) return null
  return (
    <NativeSelect
      className={classes.project}
      size="sm"
      aria-label="Project"
      value={shown}
      onChange={({ currentTarget: { value } }) =>
        value === ALL
          ? void navigate({ to: '/settings/$section', params: { section: 'projects' } })
          : chooseProject(value)
      }
      // The current project stays in the list even if it was archived or the user lost access to it.
      data={[
        ...(isListed ? [] : [shown]),
        ...names,
        ...(names.length < MOST_CHOICES ? [] : [{ value: ALL, label: 'All projects…' }]),
      ]}
    />
  )
}
