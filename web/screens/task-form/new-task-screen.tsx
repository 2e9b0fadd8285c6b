import { Button } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { useRef } from 'react'
import { ApiError } from '../../api/client.ts'
import { queryClient } from '../../api/query-client.ts'
import { createTask, taskKeys, taskQuery } from '../../api/tasks.ts'
import type { Task } from '../../api/wire.ts'
import { Found } from '../../components/found.tsx'
import { Bones } from '../../components/panel.tsx'
import { titleOf } from '../../components/task-acts.tsx'
import { useTitle } from '../../components/title.ts'
import { tell } from '../../components/toast.tsx'
import { Unread } from '../../components/unread.tsx'
import { createCommand } from './command.ts'
import { Consequences, usePreview } from './consequences.tsx'
import { type Draft, draftOf, emptyDraft } from './draft.ts'
import { inputOf } from './draft-input.ts'
import classes from './screens.module.css'
import { TaskForm } from './task-form.tsx'
import { TestRun } from './test-run.tsx'
import { Twins } from './twins.tsx'
import { useUnsaved } from './unsaved.ts'

const route = getRouteApi('/tasks/new')

/** Opens an empty form, a copy of another task, or a form with a given kind of schedule or file. */
export function NewTaskScreen() {
  useTitle('New task')
  const { from, when, file } = route.useSearch()
  const original = useQuery({
    ...taskQuery(from ?? ''),
    enabled: from !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
  })
  if (from !== undefined && original.isError)
    return <Unread what="task" id={from} error={original.error} onRetry={() => void original.refetch()} />
  if (from !== undefined && !original.data) return <Bones count={4} />
  const start = original.data ? copyOf(original.data) : file === undefined ? emptyDraft() : runningFile(file)
  const name = ['new', from, when, file].filter((part) => part !== undefined).join(' ')
  return <NewTask key={name} name={name} start={when === undefined ? start : { ...start, when }} />
}

const runningFile = (file: string): Draft => ({ ...emptyDraft(), action: 'exec', file })

function copyOf(task: Task): Draft {
  return { ...draftOf(task), name: `Copy of ${titleOf(task)}`.slice(0, 200), key: '' }
}

/** Keeps the idempotency key as long as the input is unchanged, so that a request whose answer was lost creates nothing twice. */
function useKeyFor(): (text: string) => string {
  const asked = useRef({ text: '', key: '' })
  return (text) => {
    if (asked.current.text !== text) asked.current = { text, key: crypto.randomUUID() }
    return asked.current.key
  }
}

const EMPTY = emptyDraft()

interface NewTaskProps {
  /** Name and initial draft: unsaved input is stored for each kind of start. */
  readonly name: string
  readonly start: Draft
}

function NewTask({ name, start }: NewTaskProps) {
  const navigate = useNavigate()
  const { draft, change, isFound, startOver, forget } = useUnsaved(name, { base: null, draft: start })
  const keyFor = useKeyFor()
  const { preview, problems } = usePreview(draft)
  const save = useMutation({
    mutationFn: ({ isPaused }: { isPaused: boolean }) => {
      const input = { ...inputOf(draft), ...(isPaused ? { paused: true } : {}) }
      return createTask(input, keyFor(JSON.stringify(input)))
    },
    onSuccess: async (task) => {
      forget()
      queryClient.setQueryData(taskKeys.one(task.id), task)
      void queryClient.invalidateQueries({ queryKey: taskKeys.lists })
      tell({ text: `${titleOf(task)} was created.` })
      await navigate({ to: '/tasks/$taskId', params: { taskId: task.id } })
    },
  })
  const input = inputOf(draft)
  const refused = save.error instanceof ApiError ? save.error.fields : []
  return (
    <div className={classes.screen}>
      <h1>New task</h1>
      {isFound && <Found onStartOver={() => startOver()} />}
      <TaskForm
        draft={draft}
        onChange={change}
        jsonOf={inputOf}
        start={EMPTY}
        problems={[...refused, ...problems]}
        error={save.error}
        isBusy={save.isPending}
        onSave={() => save.mutate({ isPaused: false })}
        buttons={
          <>
            <Button type="submit" loading={save.isPending}>
              Create task
            </Button>
            <Button
              variant="default"
              disabled={save.isPending}
              onClick={() => save.mutate({ isPaused: true })}
            >
              Create paused
            </Button>
          </>
        }
        aside={
          <>
            <Consequences draft={draft} preview={preview} problems={problems} />
            <TestRun draft={draft} />
            <Twins
              method="POST"
              path="/v1/tasks"
              body={input}
              command={createCommand(input, { server: location.origin })}
            />
          </>
        }
      />
    </div>
  )
}
