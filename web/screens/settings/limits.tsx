import { useState } from 'react'
import { formatCount } from '../../../src/core/words/time.ts'
import { useMay } from '../../api/me.ts'
import type { Project } from '../../api/wire.ts'
import { LIMIT_FIELDS, limitsEdit, typedLimits } from './limit-fields.ts'
import { LimitInputs } from './limit-inputs.tsx'
import { ProjectForm, ProjectPart } from './project-form.tsx'
import classes from './settings.module.css'

/** The limits of the project and how much of each is used. */
export function Limits() {
  return (
    <ProjectPart title="Limits">
      {(project) => <LimitsForm key={JSON.stringify(project.limits)} project={project} />}
    </ProjectPart>
  )
}

function LimitsForm({ project }: { readonly project: Project }) {
  const { limits } = project
  const isSettable = useMay()('installation')
  const [typed, setTyped] = useState(() => typedLimits(limits))
  const edit = limitsEdit(limits, typed)
  return (
    <ProjectForm
      edit={Object.keys(edit).length > 0 ? { limits: edit } : null}
      what="limits"
      isSettable={isSettable}
      hint={
        isSettable
          ? 'Leave a field empty for no limit. Existing tasks are not affected.'
          : 'Only admins of the installation can change limits.'
      }
    >
      <LimitInputs
        fields={LIMIT_FIELDS}
        typed={typed}
        onType={setTyped}
        isReadOnly={!isSettable}
        below={({ label, used }) => <Used label={label} used={used?.(project) ?? null} />}
      />
    </ProjectForm>
  )
}

/** The used part of a limit, as a bar and in numbers. */
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
