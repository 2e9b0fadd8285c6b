/** A virtualised list: only rows near the viewport are rendered, so ten thousand cost as much as twenty. */
import { ActionIcon } from '@mantine/core'
import { Link, useNavigate } from '@tanstack/react-router'
import { useWindowVirtualizer } from '@tanstack/react-virtual'
import { memo, useEffect, useMemo, useRef, useState } from 'react'
import { actionWords } from '../../../src/core/words/action.ts'
import { formatDuration } from '../../../src/core/words/time.ts'
import type { Task } from '../../api/wire.ts'
import { useChosenRow } from '../../components/chosen-row.ts'
import { Icon } from '../../components/icon.tsx'
import { Distance, Instant } from '../../components/instant.tsx'
import { RunStrip } from '../../components/run-strip.tsx'
import { ScheduleText } from '../../components/schedule-text.tsx'
import { StateMark } from '../../components/state-mark.tsx'
import { isOver, runNow, titleOf, togglePause } from '../../components/task-acts.tsx'
import type { Selection } from './selection.ts'
import classes from './task-list.module.css'

const ROW_PX = 61
const OVERSCAN = 12
/** The next page is requested when this many rows are left. */
const AHEAD = 30

interface TaskListProps {
  readonly tasks: readonly Task[]
  readonly selection: Selection
  readonly hasMore: boolean
  readonly isLoadingMore: boolean
  readonly onMore: () => void
  readonly onDelete: (task: Task) => void
}

export function TaskList({ tasks, selection, hasMore, isLoadingMore, onMore, onDelete }: TaskListProps) {
  const list = useRef<HTMLDivElement>(null)
  const [top, setTop] = useState(0)
  useEffect(() => setTop(list.current?.offsetTop ?? 0), [])
  const rows = useWindowVirtualizer({
    count: tasks.length,
    estimateSize: () => ROW_PX,
    overscan: OVERSCAN,
    scrollMargin: top,
    getItemKey: (index) => tasks[index]?.id ?? index,
  })
  const drawn = rows.getVirtualItems()
  const last = drawn.at(-1)?.index ?? 0
  useEffect(() => {
    if (hasMore && !isLoadingMore && last >= tasks.length - AHEAD) onMore()
  }, [hasMore, isLoadingMore, last, tasks.length, onMore])
  const { toggle } = selection
  const navigate = useNavigate()
  const chosen = useChosenRow(
    useMemo(() => tasks.map(({ id }) => id), [tasks]),
    {
      show: (index) => rows.scrollToIndex(index, { align: 'auto' }),
      act: (key, id) => {
        const task = tasks.find((shown) => shown.id === id)
        if (!task) return
        if (key === 'x') toggle(id)
        if (key === 'r') void runNow(task)
        if (key === 'p' && !isOver(task)) void togglePause(task)
        if (key === 'Enter') void navigate({ to: '/tasks/$taskId', params: { taskId: id } })
      },
    },
  )
  return (
    <div
      className={classes.table}
      role="table"
      aria-label="Tasks"
      data-live
      aria-rowcount={hasMore ? -1 : tasks.length + 1}
    >
      <div role="rowgroup" className={classes.headings}>
        <div role="row" className={classes.row} aria-rowindex={1}>
          <span role="columnheader">
            <SelectAll tasks={tasks} selection={selection} />
          </span>
          <span role="columnheader">Name</span>
          <span role="columnheader">Schedule</span>
          <span role="columnheader">Next</span>
          <span role="columnheader">Last 20</span>
          <span role="columnheader" className={classes.late} title="Worst lateness of the last 20 runs">
            Max. late
          </span>
          <span role="columnheader" className={classes.right}>
            Actions
          </span>
        </div>
      </div>
      <div role="rowgroup" ref={list} className={classes.rows} style={{ height: rows.getTotalSize() }}>
        {drawn.map(({ index, key, start }) => {
          const task = tasks[index]
          if (!task) return null
          return (
            <div
              key={key}
              ref={rows.measureElement}
              data-index={index}
              role="row"
              aria-rowindex={index + 2}
              aria-selected={task.id === chosen}
              className={classes.place}
              style={{ transform: `translateY(${start - top}px)` }}
            >
              <TaskRow
                task={task}
                isSelected={selection.has(task.id)}
                onSelect={toggle}
                onDelete={onDelete}
              />
            </div>
          )
        })}
      </div>
    </div>
  )
}

interface SelectAllProps {
  readonly tasks: readonly Task[]
  readonly selection: Selection
}

/** Selects all loaded tasks, or none. */
function SelectAll({ tasks, selection }: SelectAllProps) {
  const count = selection.tasks.length
  return (
    <input
      type="checkbox"
      className={classes.check}
      aria-label="Select all shown"
      checked={count >= tasks.length}
      ref={(box) => {
        if (box) box.indeterminate = count > 0 && count < tasks.length
      }}
      onChange={() => selection.set(count >= tasks.length ? [] : tasks.map(({ id }) => id))}
    />
  )
}

interface TaskRowProps {
  readonly task: Task
  readonly isSelected: boolean
  readonly onSelect: (id: string) => void
  readonly onDelete: (task: Task) => void
}

/** Memoised: rendered again when its task changes, not when the list is scrolled. */
const TaskRow = memo(function TaskRow({ task, isSelected, onSelect, onDelete }: TaskRowProps) {
  const title = titleOf(task)
  return (
    <div className={classes.row} data-state={task.state}>
      <div role="cell" className={classes.select}>
        <input
          type="checkbox"
          className={classes.check}
          aria-label={`Select ${title}`}
          checked={isSelected}
          onChange={() => onSelect(task.id)}
        />
      </div>
      <div role="cell" className={classes.name}>
        <Link to="/tasks/$taskId" params={{ taskId: task.id }} className={classes.title} title={title}>
          {title}
        </Link>
        <span className={classes.under}>
          <StateMark state={task.state} />
          <span>{actionWords(task.action).replace(/https?:\/\//, '')}</span>
        </span>
      </div>
      <div role="cell" className={classes.schedule}>
        <ScheduleText schedule={task.schedule} />
      </div>
      <div role="cell" className={classes.next}>
        <NextFire task={task} />
      </div>
      <div role="cell" className={classes.strip}>
        {task.recent && (
          <RunStrip recent={task.recent} isOnItsWay={task.openRun !== null} zone={task.timezone} />
        )}
      </div>
      <div role="cell" className={classes.late}>
        {worstLateness(task)}
      </div>
      <div role="cell" className={classes.acts}>
        <ActionIcon
          variant="subtle"
          color="gray"
          size="lg"
          aria-label={`Run ${title} now`}
          onClick={() => void runNow(task)}
        >
          <Icon name="play" />
        </ActionIcon>
        <ActionIcon
          variant="subtle"
          color="gray"
          size="lg"
          aria-label={`${task.state === 'paused' ? 'Resume' : 'Pause'} ${title}`}
          disabled={isOver(task)}
          onClick={() => void togglePause(task)}
        >
          <Icon name={task.state === 'paused' ? 'resume' : 'pause'} />
        </ActionIcon>
        <ActionIcon
          variant="subtle"
          color="gray"
          size="lg"
          aria-label={`Delete ${title}`}
          onClick={() => onDelete(task)}
        >
          <Icon name="trash" />
        </ActionIcon>
      </div>
    </div>
  )
})

/** The largest lateness among the recent runs. */
function worstLateness({ recent = [] }: Task): string {
  const known = recent.flatMap(({ latenessMs }) => (latenessMs === null ? [] : [latenessMs]))
  return known.length === 0 ? '–' : formatDuration(Math.max(...known))
}

function NextFire({ task }: { readonly task: Task }) {
  if (task.state === 'paused')
    return (
      <>
        <span>
          paused
          {task.pausedAt && (
            <>
              {' '}
              <Distance at={task.pausedAt} />
            </>
          )}
        </span>
        {(task.resumeAt || task.pauseReason) && (
          <span className={classes.at} title={task.pauseReason ?? undefined}>
            {task.resumeAt && (
              <>
                until <Instant at={task.resumeAt} zone={task.timezone} />
              </>
            )}
            {task.pauseReason && ` “${task.pauseReason}”`}
          </span>
        )}
      </>
    )
  if (task.nextFireAt === null)
    return <span className={classes.none}>{isOver(task) ? '–' : 'when triggered'}</span>
  return (
    <>
      <span className={classes.count}>
        <Distance at={task.nextFireAt} />
      </span>
      <span className={classes.at}>
        <Instant at={task.nextFireAt} zone={task.timezone} />
      </span>
    </>
  )
}
