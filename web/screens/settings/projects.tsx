import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { chooseProject, chosenProject } from '../../api/chosen-project.ts'
import { meQuery } from '../../api/me.ts'
import { archivedProjectsQuery, archiveProject, projectsQuery, restoreProject } from '../../api/projects.ts'
import { queryClient } from '../../api/query-client.ts'
import type { Project } from '../../api/wire.ts'
import { ActDialog } from '../../components/act-dialog.tsx'
import { Failure } from '../../components/failure.tsx'
import { Icon } from '../../components/icon.tsx'
import { Instant } from '../../components/instant.tsx'
import { Bones, Panel } from '../../components/panel.tsx'
import { tell } from '../../components/toast.tsx'
import classes from './settings.module.css'

/** The projects of the installation, for its admins. */
export function Projects({ onAdd }: { readonly onAdd: () => void }) {
  const { data: me } = useQuery(meQuery)
  return me?.installationRole === 'admin' ? <ProjectList home={me.project} onAdd={onAdd} /> : null
}

export function readProjectsAgain(): void {
  for (const { queryKey } of [projectsQuery, archivedProjectsQuery])
    void queryClient.invalidateQueries({ queryKey })
}

function ProjectList({ home, onAdd }: { readonly home: string | null; readonly onAdd: () => void }) {
  const { data: projects, error, refetch } = useQuery(projectsQuery)
  const { data: archived = [] } = useQuery(archivedProjectsQuery)
  const [asked, setAsked] = useState<Project | null>(null)
  const shown = chosenProject() ?? home
  const add = (
    <Button size="xs" variant="default" leftSection={<Icon name="plus" size={14} />} onClick={onAdd}>
      Create project
    </Button>
  )
  const restore = async ({ name }: Project) => {
    await restoreProject(name)
    readProjectsAgain()
    tell({ text: `The project ${name} was restored.` })
  }
  return (
    <Panel title="Projects" aside={add} flush>
      {error && !projects && <Failure error={error} onRetry={() => void refetch()} />}
      {!projects && !error && <Bones count={1} />}
      <ul aria-label="Projects">
        {[...(projects ?? []), ...archived].map((project) => (
          <li key={project.id} className={`${classes.row} ${classes.key}`}>
            <div className={classes.main}>
              <strong className={classes.words}>{project.name}</strong>
            </div>
            <span>{project.name === shown ? 'shown' : project.archivedAt === null ? '' : 'archived'}</span>
            <span className={classes.small}>
              created <Instant at={project.createdAt} />
            </span>
            <span className={classes.acts}>
              {project.name !== shown && (
                <Button
                  size="xs"
                  variant="default"
                  onClick={() => chooseProject(project.name)}
                  aria-label={`Open ${project.name}`}
                >
                  Open
                </Button>
              )}
              {project.archivedAt !== null && (
                <Button
                  size="xs"
                  variant="default"
                  onClick={() => void restore(project)}
                  aria-label={`Restore ${project.name}`}
                >
                  Restore
                </Button>
              )}
              {project.archivedAt === null && project.name !== 'default' && (
                <Button
                  size="xs"
                  variant="default"
                  onClick={() => setAsked(project)}
                  aria-label={`Archive ${project.name}`}
                >
                  Archive…
                </Button>
              )}
            </span>
          </li>
        ))}
      </ul>
      {asked && <ArchiveProject name={asked.name} onClose={() => setAsked(null)} />}
    </Panel>
  )
}

function ArchiveProject({ name, onClose }: { readonly name: string; readonly onClose: () => void }) {
  const archive = async () => {
    await archiveProject(name)
    readProjectsAgain()
    tell({ text: `The project ${name} was archived.` })
    onClose()
  }
  return (
    <ActDialog
      title={`Archive the project ${name}?`}
      onClose={onClose}
      effects={[
        'The project can only be read from now on.',
        'Its tasks are paused. Runs that wait or are in progress are cancelled.',
        'A project that is restored resumes its tasks.',
      ]}
      twin={{ method: 'DELETE', path: `/v1/projects/${name}` }}
      command={`belfry project archive ${name}`}
      button="Archive"
      keep="Cancel"
      isHarmful
      act={archive}
    />
  )
}
