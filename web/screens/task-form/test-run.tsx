/**
 * Performs the draft once without saving it, through a temporary task tagged `test` that runs at once, is not retried, and is
 * deleted when its run has ended or the form is left. The run stays in the history.
 */
import { Button } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { outcomeWords } from '../../../src/core/words/outcome.ts'
import { formatDuration } from '../../../src/core/words/time.ts'
import { isOpen } from '../../api/runs.ts'
import type { Run } from '../../api/wire.ts'
import { Failure } from '../../components/failure.tsx'
import { Icon } from '../../components/icon.tsx'
import { Panel } from '../../components/panel.tsx'
import { StateMark } from '../../components/state-mark.tsx'
import classes from './consequences.module.css'
import type { Draft } from './draft.ts'
import { MAX_TEST_MINUTES, runOnce } from './run-once.ts'

export function TestRun({ draft }: { readonly draft: Draft }) {
  const [run, setRun] = useState<Run | null>(null)
  const [error, setError] = useState<unknown>(null)
  const [isBusy, setBusy] = useState(false)
  const leaving = useLeaving()
  const send = async () => {
    setBusy(true)
    setError(null)
    setRun(null)
    try {
      setRun(await runOnce(draft, leaving()))
    } catch (failure) {
      setError(failure)
    } finally {
      setBusy(false)
    }
  }
  return (
    <Panel title="Test run">
      <div className={classes.list}>
        <p className={classes.policy}>
          Runs the action once, for real. The task is not saved. Leaving this page cancels the run.
        </p>
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

/** Creates a signal for each test that fires when the form is left, by a link or by closing the page. */
function useLeaving(): () => AbortSignal {
  const current = useRef<AbortController | null>(null)
  useEffect(() => {
    const leave = () => current.current?.abort()
    window.addEventListener('pagehide', leave)
    return () => {
      window.removeEventListener('pagehide', leave)
      leave()
    }
  }, [])
  return () => {
    current.current = new AbortController()
    return current.current.signal
  }
}

function Result({ run }: { readonly run: Run }) {
  const took = run.startedAt && run.endedAt ? Date.parse(run.endedAt) - Date.parse(run.startedAt) : null
  return (
    <p>
      <StateMark state={run.state} /> {outcomeWords(run)}
      {took !== null && ` in ${formatDuration(took)}`}
      {isOpen(run) && `, stopped after ${MAX_TEST_MINUTES} minutes: save the task to run it for longer`} ·{' '}
      <Link to="/runs/$runId" params={{ runId: run.id }}>
        view
      </Link>
    </p>
  )
}
