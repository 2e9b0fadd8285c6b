import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { chooseProject } from '../../api/chosen-project.ts'
import type { ChangeOptions } from '../../api/client.ts'
import { meQuery, shownProject, useMay } from '../../api/me.ts'
import { itemsOf } from '../../api/pages.ts'
import { archiveProject, projectPages, projectsQuery, restoreProject } from '../../api/projects.ts'
import { queryClient } from '../../api/query-client.ts'
import { ActDialog } from '../../components/act-dialog.tsx'
import { Instant } from '../../components/instant.tsx'
import { Filters } from '../../components/screen.tsx'
import { tell } from '../../components/toast.tsx'
import { TypedFilter } from '../../components/typed-filter.tsx'
import { usePanel } from './panel-in-address.ts'
import { ProjectPanel } from './project-panel.tsx'
import classes from './settings.module.css'
import { Row, SettingsList, Small } from './settings-list.tsx'

const route = getRouteApi('/settings/$section')

export function readProjectsAgain(): void {
  for (const queryKey of [projectsQuery.queryKey, ['project-pages']])
    void queryClient.invalidateQueries({ queryKey })
}

/** The projects in which the signed-in user has a role. Admins of the installation can also create and archive projects. */
export function Projects() {
  const { q } = route.useSearch()
  const navigate = useNavigate()
  const search = (typed: string) =>
    void navigate({ to: '.', search: typed === '' ? {} : ({ q: typed } as never), replace: true })
  return (
    <div className={classes.parts}>
      <Filters>
        <TypedFilter label="Name" value={q ?? ''} onChange={search} isMain />
      </Filters>
      <ProjectList q={q} />
      <ArchivedProjects q={q} />
    </div>
  )
}

interface ProjectListProps {
  readonly q: string | undefined
}

function ProjectList({ q }: ProjectListProps) {
  const query = useInfiniteQuery(projectPages(false, q))
  const { data: me } = useQuery(meQuery)
  const isAdmin = useMay()('installation')
  const panel = usePanel()
  const [asked, setAsked] = useState<string | null>(null)
  const shown = shownProject(me)
  return (
    <SettingsList
      title="Projects"
      query={query}
      items={itemsOf(query.data)}
      add={isAdmin ? 'Create project' : undefined}
      onAdd={panel.open}
      nothing="No projects match."
      row={({ id, name, createdAt }) => (
        <Row
          key={id}
          name={name}
          acts={[
            name !== shown && ['Open', () => chooseProject(name)],
            isAdmin && name !== 'default' && ['Archive…', () => setAsked(name)],
          ]}
        >
          {name === shown && <span>shown now</span>}
          <Small>
            created <Instant at={createdAt} />
          </Small>
        </Row>
      )}
    >
      {panel.isOpen && <ProjectPanel onClose={panel.close} />}
      {asked !== null && <ArchiveProject name={asked} onClose={() => setAsked(null)} />}
    </SettingsList>
  )
}

/** Archived projects, which are read-only; not shown if there are none. */
function ArchivedProjects({ q }: ProjectListProps) {
  const query = useInfiniteQuery(projectPages(true, q))
  const isAdmin = useMay()('installation')
  const [asked, setAsked] = useState<string | null>(null)
  const projects = itemsOf(query.data)
  if (projects.length === 0) return null
  return (
    <SettingsList
      title="Archived projects"
      query={query}
      items={projects}
      nothing=""
      row={(project) => (
        <Row
          key={project.id}
          name={project.name}
          acts={[
            ['Open', () => chooseProject(project.name)],
            isAdmin && ['Restore…', () => setAsked(project.name)],
          ]}
        >
          <Small>
            archived <Instant at={project.archivedAt ?? ''} />
          </Small>
        </Row>
      )}
    >
      {asked !== null && <RestoreProject name={asked} onClose={() => setAsked(null)} />}
    </SettingsList>
  )
}

function ArchiveProject({ name, onClose }: { readonly name: string; readonly onClose: () => void }) {
  const archive = async (options: ChangeOptions) => {
    await archiveProject(name, options)
    readProjectsAgain()
    tell({ text: `The project ${name} was archived.` })
    onClose()
  }
  return (
    <ActDialog
      title={`Archive the project ${name}?`}
      onClose={onClose}
      effects={[
        'The project becomes read-only.',
        'Its tasks are paused. Runs that wait or are in progress are cancelled.',
        'A project that is restored resumes its tasks.',
      ]}
      twin={{ method: 'DELETE', path: `/v1/projects/${name}` }}
      command={`belfry project archive ${name}`}
      button="Archive"
      isHarmful
      act={archive}
    />
  )
}

function RestoreProject({ name, onClose }: { readonly name: string; readonly onClose: () => void }) {
  const restore = async (options: ChangeOptions) => {
    await restoreProject(name, options)
    readProjectsAgain()
    tell({ text: `The project ${name} was restored.` })
    onClose()
  }
  return (
    <ActDialog
      title={`Restore the project ${name}?`}
      onClose={onClose}
      effects={[
        'Tasks that were paused when it was archived are resumed.',
        'Occurrences that were due in between are recorded as skipped.',
      ]}
      twin={{ method: 'POST', path: `/v1/projects/${name}/restore` }}
      command={`belfry project restore ${name}`}
      button="Restore"
      act={restore}
    />
  )
}
