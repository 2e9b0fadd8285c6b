/** Runs a task once, now, with overrides; the task does not change. */
import { Checkbox, Textarea } from '@mantine/core'
import '@mantine/core/styles/Checkbox.css'
import type { ChangeOptions } from '../../../api/client.ts'
import { queryClient } from '../../../api/query-client.ts'
import { runKeys, triggerTask } from '../../../api/runs.ts'
import type { Task } from '../../../api/wire.ts'
import { ActDialog } from '../../../components/act-dialog.tsx'
import classes from '../../../components/fields.module.css'
import { useKeptFields } from '../../../components/kept.ts'
import { tellRun, titleOf } from '../../../components/task-acts.tsx'
import { TextField } from '../../../components/text-field.tsx'
import { otherwiseOf, triggerInput } from './trigger-input.ts'

interface PanelProps {
  readonly task: Task
  readonly onClose: () => void
}

const LABELS = { body: 'Body', payload: 'Payload', stdin: 'Standard input', duration: 'Duration' } as const

export function TriggerPanel({ task, onClose }: PanelProps) {
  // Overrides written against another version of the task could mean something else.
  const name = `trigger ${task.id} ${task.version}`
  const kept = useKeptFields(name, () => otherwiseOf(task))
  const { start, fields, change } = kept
  const input = triggerInput(task, start, fields)
  const go = async (options: ChangeOptions) => {
    const run = await triggerTask(task.id, input, options)
    void queryClient.invalidateQueries({ queryKey: runKeys.ofTask(task.id) })
    tellRun(task, run)
    onClose()
  }
  const isBlocked = task.openRun !== null && task.overlap === 'skip' && !fields.isBeside
  const changed = Object.keys(input)
  return (
    <ActDialog
      title={`Run ${titleOf(task)} now`}
      onClose={onClose}
      kept={kept}
      effects={[
        isBlocked
          ? `This run will be refused: a run is ${task.openRun?.state}, and the task allows one active run at a time.`
          : 'One run starts immediately. It does not change the schedule or count towards its maximum number of runs.',
        changed.length === 0
          ? 'It uses the settings of the task.'
          : `Overrides for this run: ${changed.join(', ')}. The task does not change.`,
        ...(task.state === 'paused' ? ['The task stays paused.'] : []),
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
      {start.member !== null && (
        <Textarea
          label={LABELS[start.member]}
          description={start.member === 'duration' ? undefined : 'JSON or text, for this run only'}
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
        <TextField label="Attempt timeout" value={fields.timeout} onText={(timeout) => change({ timeout })} />
        <TextField
          label="Retries"
          inputMode="numeric"
          value={fields.retries}
          onText={(retries) => change({ retries })}
        />
        <TextField label="Queue" value={fields.queue} onText={(queue) => change({ queue })} />
        <TextField
          label="Priority (lower runs first)"
          inputMode="numeric"
          value={fields.priority}
          onText={(priority) => change({ priority })}
        />
      </div>
      {task.overlap !== 'allow' && (
        <Checkbox
          label="Run even if another run is active"
          checked={fields.isBeside}
          onChange={(event) => change({ isBeside: event.currentTarget.checked })}
        />
      )}
    </ActDialog>
  )
}
