import { NativeSelect } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { chooseProject, chosenProject } from '../api/chosen-project.ts'
import { meQuery } from '../api/me.ts'
import { projectsQuery } from '../api/projects.ts'
import classes from './shell.module.css'

/** Which project is shown, for whoever has access to several. */
export function ProjectSwitch() {
  const { data: me } = useQuery(meQuery)
  const { data: projects } = useQuery(projectsQuery)
  const chosen = chosenProject()
  const shown = chosen ?? me?.project ?? null
  if (!projects || shown === null) return null
  const names = projects.map(({ name }) => name)
  const isListed = names.includes(shown)
  if (isListed && names.length < 2) return null
  return (
    <NativeSelect
      className={classes.zone}
      size="sm"
      aria-label="Project"
      value={shown}
      onChange={(event) => chooseProject(event.currentTarget.value)}
      // One that was archived, or is no longer theirs, stays visible until another is chosen.
      data={isListed ? names : [shown, ...names]}
    />
  )
}
