/** A group of project settings with a form that changes them. */
import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { type FormEvent, type ReactNode, useState } from 'react'
import { ApiError } from '../../api/client.ts'
import { queryClient } from '../../api/query-client.ts'
import { editProject, projectQuery } from '../../api/settings.ts'
import type { Project, ProjectEdit } from '../../api/wire.ts'
import { Failure } from '../../components/failure.tsx'
import { FieldProblems } from '../../components/field-problems.ts'
import { Bones, Panel } from '../../components/panel.tsx'
import { ReasonField } from '../../components/text-field.tsx'
import { tell } from '../../components/toast.tsx'
import { given } from '../../components/typed.ts'
import classes from './settings.module.css'

interface ProjectPanelProps {
  readonly title: string
  readonly children: (project: Project) => ReactNode
}

export function ProjectPart({ title, children }: ProjectPanelProps) {
  const { data, error, refetch } = useQuery(projectQuery)
  return (
    <Panel title={data ? `${title} of project ${data.name}` : title}>
      {error && !data ? (
        <Failure error={error} onRetry={() => void refetch()} />
      ) : data ? (
        children(data)
      ) : (
        <Bones count={1} />
      )}
    </Panel>
  )
}

interface ProjectFormProps {
  /** The changed settings; null if nothing has changed. */
  readonly edit: ProjectEdit | null
  /** Name of the group, such as `limits`. */
  readonly what: string
  readonly isSettable: boolean
  readonly hint: string
  readonly children: ReactNode
}

export function ProjectForm({ edit, what, isSettable, hint, children }: ProjectFormProps) {
  const [error, setError] = useState<unknown>(null)
  const [reason, setReason] = useState('')
  const save = async (event: FormEvent) => {
    event.preventDefault()
    if (edit === null) return
    try {
      queryClient.setQueryData(projectQuery.queryKey, await editProject(edit, given('reason', reason)))
      setError(null)
      tell({ text: `${what.charAt(0).toUpperCase()}${what.slice(1)} saved.` })
    } catch (failure) {
      setError(failure)
    }
  }
  const fields = error instanceof ApiError ? error.fields : []
  return (
    <form className={classes.limits} onSubmit={(event) => void save(event)} noValidate>
      <FieldProblems value={fields}>
        {children}
        {isSettable && edit !== null && (
          <div className={classes.reason}>
            <ReasonField value={reason} onText={setReason} />
          </div>
        )}
      </FieldProblems>
      <div className={classes.save}>
        {isSettable && (
          <Button type="submit" disabled={edit === null}>
            Save {what}
          </Button>
        )}
        <span className={classes.small}>{hint}</span>
      </div>
      {error !== null && fields.length === 0 && <Failure error={error} />}
    </form>
  )
}
