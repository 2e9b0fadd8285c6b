/** Restores an earlier version after showing what would change. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { patchTask } from '../../../api/task-cache.ts'
import { rollbackTask, versionQuery } from '../../../api/versions.ts'
import type { Task } from '../../../api/wire.ts'
import { ActDialog } from '../../../components/act-dialog.tsx'
import { ChangeList } from '../../../components/change-list.tsx'
import { differences } from '../../../components/differences.ts'
import { titleOf } from '../../../components/task-acts.tsx'
import { tell } from '../../../components/toast.tsx'
import { given } from '../../../components/typed.ts'

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
    tell({
      text: `${titleOf(changed)} was rolled back to version ${version}. The new version is ${changed.version}.`,
    })
    onClose()
  }
  return (
    <ActDialog
      title={`Roll ${titleOf(task)} back to version ${version}?`}
      onClose={onClose}
      isReady={data !== undefined}
      effects={[
        `Creates version ${task.version + 1} with the definition of version ${version}. Version ${task.version} stays in the list.`,
        task.openRun
          ? `The ${task.openRun.state} run keeps its settings. Occurrences that are not yet due use the new version.`
          : 'Occurrences that are not yet due use the new version.',
        error ? (
          `Version ${version} could not be loaded.`
        ) : data === undefined ? (
          'Comparing…'
        ) : changes.length === 0 ? (
          'It is identical to the current version.'
        ) : (
          <ChangeList key="changes" changes={changes} label="Changes" />
        ),
      ]}
      twin={{
        method: 'POST',
        path: `/v1/tasks/${task.id}/rollback`,
        body: rollback,
        ifMatch: `"${task.version}"`,
      }}
      command={`belfry task rollback ${task.id} ${version}`}
      reason={{ value: reason, onText: setReason, isFirst: true }}
      button="Roll back"
      act={go}
    />
  )
}

/** The differences between the current task and an earlier definition. */
function changesTo(task: Task, definition: object) {
  const now = Object.fromEntries(Object.keys(definition).map((field) => [field, task[field as keyof Task]]))
  return differences(now, definition).map(({ path, before, after }) => ({ field: path, before, after }))
}
