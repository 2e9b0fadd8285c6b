import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { ApiError } from '../../api/client.ts'
import { queryClient } from '../../api/query-client.ts'
import { editProject, projectQuery } from '../../api/settings.ts'
import type { Project } from '../../api/wire.ts'
import { Failure } from '../../components/failure.tsx'
import { Bones, Panel } from '../../components/panel.tsx'
import { TextField } from '../../components/text-field.tsx'
import { tell } from '../../components/toast.tsx'
import classes from './settings.module.css'

/** How often tasks of the project may be due, and how far ahead. */
export function Limits() {
  const { data, error, refetch } = useQuery(projectQuery)
  return (
    <Panel title={data ? `Limits of project ${data.name}` : 'Limits'}>
      {error && !data ? (
        <Failure error={error} onRetry={() => void refetch()} />
      ) : data ? (
        <LimitsForm key={JSON.stringify(data.limits)} project={data} />
      ) : (
        <Bones count={1} />
      )}
    </Panel>
  )
}

function LimitsForm({ project }: { readonly project: Project }) {
  const { limits } = project
  const [minPeriod, setMinPeriod] = useState(limits.minPeriod)
  const [maxAhead, setMaxAhead] = useState(limits.maxAhead ?? '')
  const [error, setError] = useState<unknown>(null)
  const edit = {
    ...(minPeriod.trim() === limits.minPeriod
      ? {}
      : { minPeriod: minPeriod.trim() === '' ? null : minPeriod.trim() }),
    ...(maxAhead.trim() === (limits.maxAhead ?? '')
      ? {}
      : { maxAhead: maxAhead.trim() === '' ? null : maxAhead.trim() }),
  }
  const isChanged = Object.keys(edit).length > 0
  const save = async (event: FormEvent) => {
    event.preventDefault()
    if (!isChanged) return
    try {
      queryClient.setQueryData(projectQuery.queryKey, await editProject({ limits: edit }))
      setError(null)
      tell({ text: 'Limits saved.' })
    } catch (failure) {
      setError(failure)
    }
  }
  const fields = error instanceof ApiError ? error.fields : []
  const errorAt = (pointer: string) => fields.find((field) => field.pointer === pointer)?.detail
  return (
    <form className={classes.limits} onSubmit={(event) => void save(event)} noValidate>
      <TextField
        label="Minimum interval between runs"
        description="Such as 1s or 1m. Minimum: 10ms."
        value={minPeriod}
        error={errorAt('/limits/minPeriod')}
        onText={setMinPeriod}
      />
      <TextField
        label="Maximum time ahead"
        description="How far in the future a task may be due, such as 30d. Leave empty for no limit."
        placeholder="No limit"
        value={maxAhead}
        error={errorAt('/limits/maxAhead')}
        onText={setMaxAhead}
      />
      <div className={classes.save}>
        <Button type="submit" disabled={!isChanged}>
          Save limits
        </Button>
        <span className={classes.small}>
          Existing tasks are not affected. The limits apply to tasks that are created or rescheduled.
        </span>
      </div>
      {error !== null && fields.length === 0 && <Failure error={error} />}
    </form>
  )
}
