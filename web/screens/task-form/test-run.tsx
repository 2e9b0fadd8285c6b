/**
 * Does once, now and for real, what the form says, without saving it: a task of its own, tagged `test`, that
 * runs at once, is not tried again, and is deleted when its run has ended. The run stays in the history.
 */
import { Button } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { outcomeWords } from '../../../src/core/words/outcome.ts'
import { formatDuration } from '../../../src/core/words/time.ts'
import { get } from '../../api/client.ts'
import { isOpen } from '../../api/runs.ts'
import { createTask, deleteTask } from '../../api/tasks.ts'
import type { Page, Run } from '../../api/wire.ts'
import { Failure } from '../../components/failure.tsx'
import { Icon } from '../../components/icon.tsx'
import { Panel } from '../../components/panel.tsx'
import { StateMark } from '../../components/state-mark.tsx'
import classes from './consequences.module.css'
import type { Draft } from './draft.ts'
import { fullInput } from './draft-input.ts'

const ASK_AGAIN_MS = 250

export function TestRun({ draft }: { readonly draft: Draft }) {
  const [run, setRun] = useState<Run | null>(null)
  const [error, setError] = useState<unknown>(null)
  const [isBusy, setBusy] = useState(false)
  const send = async () => {
    setBusy(true)
    setError(null)
    setRun(null)
    try {
      setRun(await runOnce(draft))
    } catch (failure) {
      setError(failure)
    } finally {
      setBusy(false)
    }
  }
  return (
    <Panel title="Try it first">
      <div className={classes.list}>
        <p className={classes.policy}>Does it once, for real, right now. Nothing is saved.</p>
        <div>
          <Button
            variant="default"
            leftSection={<Icon name="play" size={16} />}
            loading={isBusy}
            onClick={() => void send()}
          >
            Send a test run
          </Button>
        </div>
        {error !== null && <Failure error={error} />}
        <div role="status">{run && <Result run={run} />}</div>
      </div>
    </Panel>
  )
}

function Result({ run }: { readonly run: Run }) {
  const took = run.startedAt && run.endedAt ? Date.parse(run.endedAt) - Date.parse(run.startedAt) : null
  return (
    <p>
      <StateMark state={run.state} /> {outcomeWords(run)}
      {took !== null && ` in ${formatDuration(took)}`} ·{' '}
      <Link to="/runs/$runId" params={{ runId: run.id }}>
        view
      </Link>
    </p>
  )
}

async function runOnce(draft: Draft): Promise<Run> {
  const name = draft.name.trim()
  const task = await createTask({
    name: name === '' ? 'Test run' : `Test of ${name}`.slice(0, 200),
    tags: ['test'],
    action: fullInput(draft).action,
    retry: { limit: 0 },
    timeout: draft.timeout.trim(),
  })
  for (;;) {
    const { items } = await get<Page<Run>>(`/v1/tasks/${task.id}/runs?limit=1`)
    const run = items[0]
    if (run && !isOpen(run)) {
      await deleteTask(task.id)
      return run
    }
    await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MS))
  }
}
