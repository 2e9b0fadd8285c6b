/** The command palette: pages, tasks by name, and runs or tasks by id. */
import { TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { type KeyboardEvent, useId, useState } from 'react'
import { get, queryOf } from '../api/client.ts'
import type { Page, Task } from '../api/wire.ts'
import { Dialog } from '../components/dialog.tsx'
import { Icon, type IconName } from '../components/icon.tsx'
import { useSettled } from '../components/settled.ts'
import { LOOKS } from '../components/state.ts'
import { titleOf } from '../components/task-acts.tsx'
import classes from './palette.module.css'
import { SETTINGS_SECTIONS } from './settings-sections.ts'
import { endTyping } from './typed-ahead.ts'

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

/** The focus stays in the text field; `aria-activedescendant` names the selected entry of the list. */
export function Palette({ onClose }: { readonly onClose: () => void }) {
  const list = useId()
  const [typed, setTyped] = useState('')
  const [moved, setMoved] = useState(0)
  const entries = useEntries(typed.trim())
  const chosen = Math.min(moved, entries.length - 1)
  const go = (entry: Entry | undefined) => {
    if (!entry) return
    onClose()
    entry.go()
  }
  const takeTypedAhead = () => {
    const ahead = endTyping()
    if (ahead !== '') setTyped((before) => before + ahead)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (event.key === 'Enter') go(entries[chosen])
    if (step === undefined || entries.length === 0) return
    event.preventDefault()
    setMoved((chosen + step + entries.length) % entries.length)
  }
  return (
    <Dialog title="Search and commands" onClose={onClose}>
      <TextInput
        data-autofocus
        role="combobox"
        aria-label="Search"
        aria-expanded
        aria-controls={list}
        aria-activedescendant={chosen < 0 ? undefined : `${list}-${chosen}`}
        placeholder="Search tasks, run IDs and pages"
        leftSection={<Icon name="search" size={16} />}
        value={typed}
        onChange={(event) => {
          setTyped(event.currentTarget.value)
          setMoved(0)
        }}
        onKeyDown={onKeyDown}
        onFocus={takeTypedAhead}
      />
      <div id={list} role="listbox" aria-label="Results" className={classes.list}>
        {entries.map((entry, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: keys are heard where one types.
          <div
            key={entry.id}
            id={`${list}-${index}`}
            role="option"
            aria-selected={index === chosen}
            className={classes.entry}
            onClick={() => go(entry)}
          >
            <Icon name={entry.icon} />
            <span className={classes.label}>{entry.label}</span>
            {entry.description && <span className={classes.description}>{entry.description}</span>}
          </div>
        ))}
      </div>
      {entries.length === 0 && <p className={classes.description}>No results.</p>}
    </Dialog>
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
  const openTask = (taskId: string) => void navigate({ to: '/tasks/$taskId', params: { taskId } })
  if (ID.test(typed)) {
    const openRun = () => void navigate({ to: '/runs/$runId', params: { runId: typed } })
    return [
      { id: 'run', label: `Open run ${typed}`, icon: 'runs', go: openRun },
      { id: 'task', label: `Open task ${typed}`, icon: 'tasks', go: () => openTask(typed) },
    ]
  }
  const places: readonly Entry[] = [
    { id: 'new', label: 'New task', icon: 'plus', go: () => void navigate({ to: '/tasks/new' }) },
    { id: 'overview', label: 'Overview', icon: 'overview', go: () => void navigate({ to: '/' }) },
    { id: 'tasks', label: 'Tasks', icon: 'tasks', go: () => void navigate({ to: '/tasks' }) },
    { id: 'runs', label: 'Runs', icon: 'runs', go: () => void navigate({ to: '/runs' }) },
    { id: 'dead', label: 'Dead letters', icon: 'dead', go: () => void navigate({ to: '/dead-letters' }) },
    { id: 'queues', label: 'Queues', icon: 'queues', go: () => void navigate({ to: '/queues' }) },
    { id: 'files', label: 'Files', icon: 'file', go: () => void navigate({ to: '/files' }) },
    { id: 'targets', label: 'Targets', icon: 'targets', go: () => void navigate({ to: '/targets' }) },
    { id: 'nodes', label: 'Nodes and shards', icon: 'nodes', go: () => void navigate({ to: '/nodes' }) },
    ...SETTINGS_SECTIONS.map(
      (section): Entry => ({
        id: section,
        label: `Settings: ${section.replaceAll('-', ' ')}`,
        icon: 'settings',
        go: () => void navigate({ to: '/settings/$section', params: { section } }),
      }),
    ),
    {
      id: 'audit-log',
      label: 'Audit log: who changed what',
      icon: 'history',
      go: () => void navigate({ to: '/audit-log' }),
    },
    {
      id: 'failed',
      label: 'Permanently failed runs',
      icon: 'runs',
      go: () => void navigate({ to: '/runs', search: { state: 'permanently_failed' } }),
    },
    {
      id: 'paused',
      label: 'Paused tasks',
      icon: 'pause',
      go: () => void navigate({ to: '/tasks', search: { state: 'paused' } }),
    },
  ]
  // Until the answer arrives, matches for the shorter text are kept if they still match.
  const matches = ({ label }: Entry) => label.toLowerCase().includes(typed.toLowerCase())
  const tasks = (data?.items ?? []).map(
    (task): Entry => ({
      id: task.id,
      label: titleOf(task),
      description: LOOKS[task.state].word,
      icon: 'tasks',
      go: () => openTask(task.id),
    }),
  )
  return [...places.filter(matches), ...(asked === typed ? tasks : tasks.filter(matches))]
}
