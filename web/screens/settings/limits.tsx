import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { formatCount } from '../../../src/core/words/time.ts'
import { ApiError } from '../../api/client.ts'
import { useMay } from '../../api/me.ts'
import { queryClient } from '../../api/query-client.ts'
import { editProject, projectQuery } from '../../api/settings.ts'
import type { Project } from '../../api/wire.ts'
import { Failure } from '../../components/failure.tsx'
import { FieldProblems } from '../../components/field-problems.ts'
import { Bones, Panel } from '../../components/panel.tsx'
import { tell } from '../../components/toast.tsx'
import { LIMIT_FIELDS, limitsEdit, typedLimits } from './limit-fields.ts'
import { LimitInputs } from './limit-inputs.tsx'
import classes from './settings.module.css'

/** What the project may use, and what it uses. */
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
  const isSettable = useMay()('installation')
  const [typed, setTyped] = useState(() => typedLimits(limits))
  const [error, setError] = useState<unknown>(null)
  const edit = limitsEdit(limits, typed)
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
  return (
    <form className={classes.limits} onSubmit={(event) => void save(event)} noValidate>
      <FieldProblems value={fields}>
        <LimitInputs
          fields={LIMIT_FIELDS}
          typed={typed}
          onType={setTyped}
          isReadOnly={!isSettable}
          below={({ label, used }) => <Used label={label} used={used?.(project) ?? null} />}
        />
      </FieldProblems>
      <div className={classes.save}>
        {isSettable && (
          <Button type="submit" disabled={!isChanged}>
            Save limits
          </Button>
        )}
        <span className={classes.small}>
          {isSettable
            ? 'Leave a field empty for no limit. Existing tasks are not affected.'
            : 'Only admins of the installation can change limits.'}
        </span>
      </div>
      {error !== null && fields.length === 0 && <Failure error={error} />}
    </form>
  )
}

/** How much of a limit is used, as a bar and in numbers. */
function Used({
  label,
  used,
}: {
  readonly label: string
  readonly used: { readonly value: number; readonly of: number } | null
}) {
  if (used === null) return null
  const { value, of } = used
  return (
    <div className={classes.used}>
      <meter
        aria-label={`${label} used`}
        min={0}
        max={Math.max(of, 1)}
        high={of * 0.9}
        optimum={0}
        value={value}
      />
      <span className={classes.small}>
        {formatCount(value)} of {formatCount(of)} used
      </span>
    </div>
  )
}
