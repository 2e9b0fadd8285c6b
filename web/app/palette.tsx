/** Everything by typing: places, tasks by name, a run or task by its id. */
import { Spotlight, spotlight } from '@mantine/spotlight'
import '@mantine/core/styles/ScrollArea.css'
import '@mantine/core/styles/Overlay.css'
import '@mantine/core/styles/ModalBase.css'
import '@mantine/core/styles/Modal.css'
import '@mantine/spotlight/styles.css'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { get, queryOf } from '../api/client.ts'
import type { Page, Task } from '../api/wire.ts'
import { Icon, type IconName } from '../components/icon.tsx'
import { useSettled } from '../components/settled.ts'
import { LOOKS } from '../components/state.ts'
import { titleOf } from '../components/task-acts.tsx'

const TYPING_MS = 150
const SHOWN_TASKS = 8
const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

interface Entry {
  readonly id: string
  readonly label: string
  readonly description?: string
  readonly icon: IconName
  readonly go: () => void
}

export function Palette({ onClose }: { readonly onClose: () => void }) {
  const [typed, setTyped] = useState('')
  useEffect(() => spotlight.open(), [])
  const entries = useEntries(typed.trim())
  return (
    <Spotlight.Root
      query={typed}
      onQueryChange={setTyped}
      onSpotlightClose={onClose}
      shortcut={null}
      lockScroll={false}
      transitionProps={{ duration: 0 }}
      scrollable
      aria-label="Search and commands"
    >
      <Spotlight.Search
        placeholder="Task, run id, or where to go"
        aria-label="Search"
        leftSection={<Icon name="search" />}
      />
      <Spotlight.ActionsList>
        {entries.map(({ id, label, description, icon, go }) => (
          <Spotlight.Action
            key={id}
            label={label}
            {...(description === undefined ? {} : { description })}
            leftSection={<Icon name={icon} />}
            onClick={go}
          />
        ))}
        {entries.length === 0 && <Spotlight.Empty>Nothing has such a name.</Spotlight.Empty>}
      </Spotlight.ActionsList>
    </Spotlight.Root>
  )
}

function useEntries(typed: string): readonly Entry[] {
  const navigate = useNavigate()
  const asked = useSettled(typed, TYPING_MS)
  const { data } = useQuery({
    queryKey: ['palette', asked],
    queryFn: ({ signal }) => get<Page<Task>>(`/v1/tasks${queryOf({ q: asked, limit: SHOWN_TASKS })}`, signal),
    placeholderData: (before) => before,
  })
  if (ID.test(typed))
    return [
      {
        id: 'run',
        label: `Open the run ${typed}`,
        icon: 'runs',
        go: () => void navigate({ to: '/runs/$runId', params: { runId: typed } }),
      },
      {
        id: 'task',
        label: `Open the task ${typed}`,
        icon: 'tasks',
        go: () => void navigate({ to: '/tasks/$taskId', params: { taskId: typed } }),
      },
    ]
  const places: readonly Entry[] = [
    { id: 'new', label: 'New task', icon: 'plus', go: () => void navigate({ to: '/tasks/new' }) },
    { id: 'overview', label: 'Overview', icon: 'overview', go: () => void navigate({ to: '/' }) },
    { id: 'tasks', label: 'Tasks', icon: 'tasks', go: () => void navigate({ to: '/tasks' }) },
    {
      id: 'paused',
      label: 'Paused tasks',
      icon: 'pause',
      go: () => void navigate({ to: '/tasks', search: { state: 'paused' } }),
    },
  ]
  const tasks = (data?.items ?? []).map(
    (task): Entry => ({
      id: task.id,
      label: titleOf(task),
      description: LOOKS[task.state].word,
      icon: 'tasks',
      go: () => void navigate({ to: '/tasks/$taskId', params: { taskId: task.id } }),
    }),
  )
  const matches = ({ label }: Entry) => label.toLowerCase().includes(typed.toLowerCase())
  return [...places.filter(matches), ...tasks]
}
