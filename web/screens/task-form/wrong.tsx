/** What to do when an attempt fails, when it cannot begin on time, and when its worker dies. */
import { NativeSelect, TextInput } from '@mantine/core'
import { MISFIRE_POLICIES, OVERLAP_POLICIES, WORKER_LOSS_POLICIES } from '../../../src/core/task/task.ts'
import type { Draft } from './draft.ts'
import { type PartProps, Question } from './part.tsx'
import classes from './task-form.module.css'

const OVERLAP_WORDS = {
  skip: 'skip it',
  allow: 'run both',
  queue_one: 'let one wait',
  queue_all: 'let all wait',
  cancel_previous: 'cancel the earlier run',
}
const MISFIRE_WORDS = {
  run_once: 'run the newest',
  run_all: 'run all of them',
  skip: 'skip them',
  fail: 'let them fail',
}
const LOSS_WORDS = {
  retry: 'run it again (at least once)',
  count: 'count it as a failed attempt',
  fail: 'give it up (at most once)',
}

const options = <T extends string>(values: readonly T[], words: Readonly<Record<string, string>>) =>
  values.map((value) => ({ value, label: words[value] ?? value }))

export function Wrong({ draft, change, errorAt }: PartProps) {
  return (
    <Question number={3} title="If it goes wrong">
      <div className={classes.three}>
        <TextInput
          label="Retries"
          inputMode="numeric"
          value={draft.retryLimit}
          error={errorAt('/retry/limit')}
          onChange={(event) => change({ retryLimit: event.currentTarget.value })}
        />
        <TextInput
          label="First wait"
          value={draft.retryInitial}
          error={errorAt('/retry/initial')}
          onChange={(event) => change({ retryInitial: event.currentTarget.value })}
        />
        <TextInput
          label="Longest wait"
          value={draft.retryMax}
          error={errorAt('/retry/max')}
          onChange={(event) => change({ retryMax: event.currentTarget.value })}
        />
      </div>
      <div className={classes.two}>
        <TextInput
          label="Stop an attempt after"
          value={draft.timeout}
          error={errorAt('/timeout')}
          onChange={(event) => change({ timeout: event.currentTarget.value })}
        />
        <TextInput
          label="Give up waiting for a worker after"
          placeholder="never"
          value={draft.queueTimeout}
          error={errorAt('/queueTimeout')}
          onChange={(event) => change({ queueTimeout: event.currentTarget.value })}
        />
        <NativeSelect
          label="Due while a run is active"
          value={draft.overlap}
          data={options(OVERLAP_POLICIES, OVERLAP_WORDS)}
          onChange={(event) => change({ overlap: event.currentTarget.value as Draft['overlap'] })}
        />
        <NativeSelect
          label="Missed while nobody was there"
          value={draft.misfirePolicy}
          data={options(MISFIRE_POLICIES, MISFIRE_WORDS)}
          onChange={(event) => change({ misfirePolicy: event.currentTarget.value as Draft['misfirePolicy'] })}
        />
        <TextInput
          label="If not older than"
          value={draft.misfireWindow}
          error={errorAt('/misfire/window')}
          onChange={(event) => change({ misfireWindow: event.currentTarget.value })}
        />
        {draft.misfirePolicy === 'run_all' && (
          <>
            <TextInput
              label="The latest so many"
              inputMode="numeric"
              value={draft.misfireCap}
              error={errorAt('/misfire/cap')}
              onChange={(event) => change({ misfireCap: event.currentTarget.value })}
            />
            <TextInput
              label="So many a second"
              inputMode="decimal"
              value={draft.misfireRate}
              error={errorAt('/misfire/rate')}
              onChange={(event) => change({ misfireRate: event.currentTarget.value })}
            />
          </>
        )}
        <NativeSelect
          label="When its worker dies"
          value={draft.onWorkerLoss}
          data={options(WORKER_LOSS_POLICIES, LOSS_WORDS)}
          onChange={(event) => change({ onWorkerLoss: event.currentTarget.value as Draft['onWorkerLoss'] })}
        />
      </div>
    </Question>
  )
}
