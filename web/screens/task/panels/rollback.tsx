/** Makes an earlier version hold again, after showing what that changes about the task as it is. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { patchTask } from '../../../api/task-cache.ts'
import { rollbackTask, versionQuery } from '../../../api/versions.ts'
import type { Task } from '../../../api/wire.ts'
import { ActDialog } from '../../../components/act-dialog.tsx'
import { differences } from '../../../components/differences.ts'
import { titleOf } from '../../../components/task-acts.tsx'
import { ReasonField } from '../../../components/text-field.tsx'
import { tell } from '../../../components/toast.tsx'
import { given } from '../../../components/typed.ts'
import { ChangeList } from '../change-list.tsx'

interface RollbackProps {
  readonly task: Task
  readonly version: number
  readonly onClose: () => void
}

export function Rollback({ task, version, onClose }: RollbackProps) {
  const [reason, setReason] = useState('')
  const { data, error } = useQuery(versionQuery(task.id, version))
  const changes = data ? changesTo(task, data.definition) : []
  const rollback = { version, ...given('reason', reason) }
  const go = async () => {
    const { data: changed } = await rollbackTask(task.id, rollback, task.version)
    patchTask(changed)
    tell({ text: `${titleOf(changed)} is as version ${version} had it, as version ${changed.version}.` })
    onClose()
  }
  return (
    <ActDialog
      title={`Roll ${titleOf(task)} back to version ${version}?`}
      onClose={onClose}
      isReady={data !== undefined}
      effects={[
        `Makes version ${task.version + 1}, which says what version ${version} said. Nothing is lost: version ${task.version} stays in the list.`,
        task.openRun
          ? `The ${task.openRun.state} run keeps the settings it has; what is not yet due follows the new version.`
          : 'What is not yet due follows the new version.',
        error ? (
          `Version ${version} cannot be read.`
        ) : data === undefined ? (
          'Comparing …'
        ) : changes.length === 0 ? (
          'It says the same as the task does now.'
        ) : (
          <ChangeList key="changes" changes={changes} label="What it changes" />
        ),
      ]}
      twin={{
        method: 'POST',
        path: `/v1/tasks/${task.id}/rollback`,
        body: rollback,
        ifMatch: `"${task.version}"`,
      }}
      command={`belfry task rollback ${task.id} ${version}`}
      button="Roll back"
      act={go}
    >
      <ReasonField value={reason} onText={setReason} isFirst />
    </ActDialog>
  )
}

/** What differs between the task as it is and a definition that it had. */
function changesTo(task: Task, definition: object) {
  const now = Object.fromEntries(Object.keys(definition).map((field) => [field, task[field as keyof Task]]))
  return differences(now, definition).map(({ path, before, after }) => ({ field: path, before, after }))
}
