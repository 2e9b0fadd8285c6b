/**
 * Edits a task. Saving sends only the changed fields, with the version that the edit started from. If somebody else saved
 * first, both versions are shown side by side and nothing is lost.
 */
import { Button } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { ApiError, get } from '../../api/client.ts'
import { useIsGone } from '../../api/gone.ts'
import { patchTask } from '../../api/task-cache.ts'
import { editTask, taskQuery } from '../../api/tasks.ts'
import type { Task } from '../../api/wire.ts'
import { Found } from '../../components/found.tsx'
import { GoneTask } from '../../components/gone-task.tsx'
import { Bones } from '../../components/panel.tsx'
import { titleOf } from '../../components/task-acts.tsx'
import { ReasonField } from '../../components/text-field.tsx'
import { useTitle } from '../../components/title.ts'
import { tell } from '../../components/toast.tsx'
import { given } from '../../components/typed.ts'
import { Unread } from '../../components/unread.tsx'
import { editCommand } from './command.ts'
import { Conflict } from './conflict.tsx'
import { Consequences, usePreview } from './consequences.tsx'
import { draftOf } from './draft.ts'
import { changesOf, fullInput } from './draft-input.ts'
import classes from './screens.module.css'
import { TaskForm } from './task-form.tsx'
import { TestRun } from './test-run.tsx'
import { Twins } from './twins.tsx'
import { useUnsaved } from './unsaved.ts'

const route = getRouteApi('/tasks/$taskId/edit')

export function EditTaskScreen() {
  useTitle('Edit')
  const { taskId } = route.useParams()
  // A task that is being edited is not refetched.
  const enabled = !useIsGone(taskId)
  const { data, error, refetch } = useQuery({
    ...taskQuery(taskId),
    staleTime: 0,
    refetchOnWindowFocus: false,
    enabled,
  })
  const [base, setBase] = useState<Task | null>(null)
  if (base === null && data) setBase(data)
  if (error && base === null)
    return <Unread what="task" id={taskId} error={error} onRetry={() => void refetch()} />
  if (base === null) return <Bones count={4} />
  return <EditTask key={base.id} opened={base} latest={data?.version ?? base.version} />
}

interface EditTaskProps {
  readonly opened: Task
  /** The current version of the task. */
  readonly latest: number
}

function EditTask({ opened, latest }: EditTaskProps) {
  const navigate = useNavigate()
  const unsaved = useUnsaved(`edit ${opened.id}`, { base: opened, draft: draftOf(opened) })
  const { draft, forget } = unsaved
  const base = unsaved.base ?? opened
  const [theirs, setTheirs] = useState<Task | null>(null)
  const [reason, setReason] = useState('')
  const because = given('reason', reason)
  const isGone = useIsGone(opened.id)
  const { preview, problems } = usePreview(draft, base)
  const changes = changesOf(draftOf(base), draft)
  const hasChanges = Object.keys(changes).length > 0
  const save = useMutation({
    mutationFn: (version: number) => editTask(base.id, changes, { version, ...because }),
    onSuccess: async ({ data }) => {
      forget()
      patchTask(data)
      tell({ text: `${titleOf(data)} was saved as version ${data.version}.` })
      await navigate({ to: '/tasks/$taskId', params: { taskId: base.id } })
    },
    onError: async (error) => {
      if (error instanceof ApiError && error.problem.code === 'version_mismatch')
        setTheirs(await get<Task>(`/v1/tasks/${base.id}`))
    },
  })
  const refused = save.error instanceof ApiError ? save.error.fields : []
  const takeTheirs = (task: Task) => {
    setTheirs(null)
    unsaved.startOver({ base: task, draft: draftOf(task) })
    save.reset()
  }
  return (
    <div className={classes.screen}>
      <h1>
        Edit{' '}
        <Link to="/tasks/$taskId" params={{ taskId: base.id }}>
          {titleOf(base)}
        </Link>
      </h1>
      {unsaved.isFound && <Found onStartOver={() => unsaved.startOver()} />}
      {isGone && <GoneTask title={titleOf(base)} />}
      {theirs && (
        <Conflict
          base={base}
          theirs={theirs}
          draft={draft}
          isBusy={save.isPending}
          onKeepMine={() => save.mutate(theirs.version)}
          onTakeTheirs={() => takeTheirs(theirs)}
        />
      )}
      <TaskForm
        draft={draft}
        onChange={unsaved.change}
        jsonOf={fullInput}
        start={draftOf(base)}
        problems={[...refused, ...problems]}
        error={theirs ? null : save.error}
        isBusy={save.isPending}
        onSave={() => hasChanges && save.mutate(base.version)}
        reason={hasChanges && <ReasonField value={reason} onText={setReason} />}
        buttons={
          <>
            <Button
              type="submit"
              loading={save.isPending}
              disabled={!hasChanges || theirs !== null || isGone}
            >
              Save
            </Button>
            <Button
              variant="default"
              onClick={forget}
              renderRoot={(props) => <Link to="/tasks/$taskId" params={{ taskId: base.id }} {...props} />}
            >
              Cancel
            </Button>
          </>
        }
        aside={
          <>
            {latest > base.version && theirs === null && !save.isSuccess && (
              <p role="status" className={classes.meanwhile}>
                Someone saved version {latest} in the meantime. Save to compare both versions.
              </p>
            )}
            <Consequences draft={draft} preview={preview} problems={problems} current={base} />
            <TestRun draft={draft} />
            <Twins
              method="PATCH"
              path={`/v1/tasks/${base.id}`}
              body={changes}
              command={editCommand(changes, {
                id: base.id,
                version: base.version,
                server: location.origin,
                ...because,
              })}
              {...because}
              ifMatch={`"${base.version}"`}
            />
          </>
        }
      />
    </div>
  )
}
