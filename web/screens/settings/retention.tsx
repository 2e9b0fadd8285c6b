import { useState } from 'react'
import { useMay } from '../../api/me.ts'
import type { Project } from '../../api/wire.ts'
import { TextField } from '../../components/text-field.tsx'
import { ProjectForm, ProjectPart } from './project-form.tsx'

/** How long the project keeps its history and its audit log. */
export function Retention() {
  return (
    <ProjectPart title="Retention">
      {(project) => <RetentionForm key={JSON.stringify(project.retention)} retention={project.retention} />}
    </ProjectPart>
  )
}

const FIELDS = [
  {
    name: 'history',
    label: 'History',
    description: 'How long runs that have ended are kept, with attempts and logs, such as 90d.',
  },
  {
    name: 'auditLog',
    label: 'Audit log',
    description: 'How long entries of the audit log are kept, such as 730d.',
  },
] as const

function RetentionForm({ retention }: Pick<Project, 'retention'>) {
  const isSettable = useMay()('installation')
  const [typed, setTyped] = useState({
    history: retention.history ?? '',
    auditLog: retention.auditLog ?? '',
  })
  const changed = FIELDS.flatMap(({ name }) => {
    const text = typed[name].trim()
    return text === (retention[name] ?? '') ? [] : [[name, text === '' ? null : text] as const]
  })
  return (
    <ProjectForm
      edit={changed.length > 0 ? { retention: Object.fromEntries(changed) } : null}
      what="retention"
      isSettable={isSettable}
      hint={
        isSettable
          ? 'Whole days. Leave a field empty to use the setting of the server. Deleted data cannot be restored.'
          : 'Only admins of the installation can change the retention.'
      }
    >
      {FIELDS.map(({ name, ...field }) => (
        <TextField
          key={name}
          {...field}
          placeholder="Setting of the server"
          readOnly={!isSettable}
          value={typed[name]}
          pointer={`/retention/${name}`}
          onText={(text) => setTyped({ ...typed, [name]: text })}
        />
      ))}
    </ProjectForm>
  )
}
