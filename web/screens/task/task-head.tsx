/** The state of a task, and its actions. */
import { ActionIcon, Button, Menu } from '@mantine/core'
import '@mantine/core/styles/Menu.css'
import '@mantine/core/styles/Popover.css'
import { Link, useNavigate } from '@tanstack/react-router'
import type { Task } from '../../api/wire.ts'
import type { TaskPanel } from '../../app/router.tsx'
import { Icon, type IconName } from '../../components/icon.tsx'
import { StateMark } from '../../components/state-mark.tsx'
import { isOver, runNow, togglePause } from '../../components/task-acts.tsx'
import classes from './task-screen.module.css'

interface TaskActsProps {
  readonly task: Task
  readonly onOpen: (panel: TaskPanel) => void
}

export function TaskState({ task }: { readonly task: Task }) {
  return (
    <span className={classes.state}>
      <StateMark state={task.state} />
      <Link
        to="/tasks/$taskId"
        params={{ taskId: task.id }}
        search={{ tab: 'versions' }}
        className={classes.small}
      >
        version {task.version}
      </Link>
    </span>
  )
}

export function TaskActs({ task, onOpen }: TaskActsProps) {
  const isPaused = task.state === 'paused'
  return (
    <>
      {task.state !== 'cancelled' && (
        <Split icon="play" label="Run now" onClick={() => void runNow(task)} isMain>
          <More label="Run with changes" onClick={() => onOpen('trigger')} isMain />
        </Split>
      )}
      {!isOver(task) && (
        <Split
          icon={isPaused ? 'resume' : 'pause'}
          label={isPaused ? 'Resume' : 'Pause'}
          onClick={() => void togglePause(task)}
        >
          <More label={isPaused ? 'Edit pause' : 'Pause with a reason'} onClick={() => onOpen('pause')} />
        </Split>
      )}
      {task.state !== 'cancelled' && (
        <Button
          variant="default"
          leftSection={<Icon name="edit" size={16} />}
          renderRoot={(props) => <Link to="/tasks/$taskId/edit" params={{ taskId: task.id }} {...props} />}
        >
          Edit
        </Button>
      )}
      <MoreActs task={task} onOpen={onOpen} />
    </>
  )
}

interface SplitProps {
  readonly icon: IconName
  readonly label: string
  readonly onClick: () => void
  readonly isMain?: boolean
  readonly children: React.ReactNode
}

/** A button that acts at once, with a second one beside it that opens options. */
function Split({ icon, label, onClick, isMain, children }: SplitProps) {
  return (
    <Button.Group>
      <Button
        {...(isMain ? {} : { variant: 'default' })}
        leftSection={<Icon name={icon} size={16} />}
        onClick={onClick}
      >
        {label}
      </Button>
      {children}
    </Button.Group>
  )
}

interface MoreProps {
  readonly label: string
  readonly onClick: () => void
  readonly isMain?: boolean
}

function More({ label, onClick, isMain }: MoreProps) {
  return (
    <Button
      {...(isMain ? {} : { variant: 'default' })}
      className={isMain ? classes.divided : undefined}
      px={8}
      aria-label={`${label}…`}
      title={`${label}…`}
      onClick={onClick}
    >
      <Icon name="chevron" size={14} />
    </Button>
  )
}

function MoreActs({ task, onOpen }: TaskActsProps) {
  const navigate = useNavigate()
  const isTimed = task.schedule.type !== 'manual'
  return (
    <Menu withinPortal={false} transitionProps={{ duration: 0 }} position="bottom-end" returnFocus>
      <Menu.Target>
        <ActionIcon variant="default" size={36} aria-label="More actions">
          <Icon name="more" />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {isTimed && !isOver(task) && (
          <Menu.Item leftSection={<Icon name="skip" size={16} />} onClick={() => onOpen('skip')}>
            {task.skipNext ? 'Stop skipping…' : 'Skip next…'}
          </Menu.Item>
        )}
        {isTimed && task.state !== 'cancelled' && (
          <Menu.Item leftSection={<Icon name="history" size={16} />} onClick={() => onOpen('backfill')}>
            Backfill…
          </Menu.Item>
        )}
        <Menu.Item
          leftSection={<Icon name="clone" size={16} />}
          onClick={() => void navigate({ to: '/tasks/new', search: { from: task.id } })}
        >
          Clone
        </Menu.Item>
        <Menu.Item leftSection={<Icon name="trash" size={16} />} onClick={() => onOpen('delete')}>
          Delete…
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}
