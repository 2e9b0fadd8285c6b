/** Runs a task once, now, otherwise than it says; the task itself stays as it is. */
import { Checkbox, Textarea } from '@mantine/core'
import '@mantine/core/styles/Checkbox.css'
import { queryClient } from '../../../api/query-client.ts'
import { runKeys, triggerTask } from '../../../api/runs.ts'
import type { Task } from '../../../api/wire.ts'
import { ActDialog } from '../../../components/act-dialog.tsx'
import { Found } from '../../../components/found.tsx'
import { useKeptFields } from '../../../components/kept.ts'
import { tellRun, titleOf } from '../../../components/task-acts.tsx'
import { TextField } from '../../../components/text-field.tsx'
import classes from './fields.module.css'
import { otherwiseOf, triggerInput } from './trigger-input.ts'

interface PanelProps {
  readonly task: Task
  readonly onClose: () => void
}

const LABELS = { body: 'Body', payload: 'Payload', duration: 'For how long' } as const

export function TriggerPanel({ task, onClose }: PanelProps) {
  // What was written against another version of the task would say more than it was meant to.
  const name = `trigger ${task.id} ${task.version}`
  const { start, fields, change, isFound, startOver, forget } = useKeptFields(name, () => otherwiseOf(task))
  const close = () => {
    forget()
    onClose()
  }
  const input = triggerInput(task, start, fields)
  const go = async () => {
    const run = await triggerTask(task.id, input)
    void queryClient.invalidateQueries({ queryKey: runKeys.ofTask(task.id) })
    tellRun(task, run)
    close()
  }
  const isBlocked = task.openRun !== null && task.overlap === 'skip' && !fields.isBeside
  const changed = Object.keys(input)
  return (
    <ActDialog
      title={`Run ${titleOf(task)} now`}
      onClose={close}
      effects={[
        isBlocked
          ? `It will be refused: a run is ${task.openRun?.state}, and the task lets one be active at a time.`
          : 'One run starts at once. It moves no occurrence of the schedule and does not count towards its limit.',
        changed.length === 0
          ? 'It does what the task says.'
          : `Otherwise than the task says: ${changed.join(', ')}. The task stays as it is.`,
        ...(task.state === 'paused' ? ['The task is paused, and stays paused.'] : []),
      ]}
      twin={{
        method: 'POST',
        path: `/v1/tasks/${task.id}/trigger`,
        ...(changed.length === 0 ? {} : { body: input }),
      }}
      {...(changed.length === 0 ? { command: `belfry task run ${task.id}` } : {})}
      button="Run now"
      act={go}
    >
      {isFound && <Found onStartOver={startOver} />}
      {start.member !== null && (
        <Textarea
          label={LABELS[start.member]}
          description={start.member === 'duration' ? undefined : 'JSON, or any text, for this run alone'}
          autosize
          minRows={start.member === 'duration' ? 1 : 4}
          maxRows={16}
          value={fields.content}
          onChange={(event) => change({ content: event.currentTarget.value })}
          classNames={{ input: classes.mono ?? '' }}
          data-autofocus
        />
      )}
      <div className={classes.two}>
        <TextField
          label="Stop an attempt after"
          value={fields.timeout}
          onText={(timeout) => change({ timeout })}
        />
        <TextField
          label="Retries"
          inputMode="numeric"
          value={fields.retries}
          onText={(retries) => change({ retries })}
        />
        <TextField label="Queue" value={fields.queue} onText={(queue) => change({ queue })} />
        <TextField
          label="Priority, the smaller first"
          inputMode="numeric"
          value={fields.priority}
          onText={(priority) => change({ priority })}
        />
      </div>
      {task.overlap !== 'allow' && (
        <Checkbox
          label="Also beside a run that is active"
          checked={fields.isBeside}
          onChange={(event) => change({ isBeside: event.currentTarget.checked })}
        />
      )}
    </ActDialog>
  )
}
