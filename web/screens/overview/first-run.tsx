/** Shown while there are no tasks: two tasks to start with, and the equivalent commands. */
import { Button } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { zoneWord } from '../../../src/core/words/time.ts'
import { queryClient } from '../../api/query-client.ts'
import { createTask, taskKeys } from '../../api/tasks.ts'
import type { TaskInput } from '../../api/wire.ts'
import { CopyButton } from '../../components/copy.tsx'
import { Failure } from '../../components/failure.tsx'
import { CodeBlock } from '../../components/panel.tsx'
import { ServerLine } from '../../components/server-line.tsx'
import { shellLine } from '../../components/shell.ts'
import { tell } from '../../components/toast.tsx'
import { myZone } from '../../time/zone.ts'
import { createParts } from '../task-form/command.ts'
import classes from './first-run.module.css'

const RING = {
  schedule: { type: 'every', interval: '1m' },
  action: { type: 'sleep', duration: '1s' },
} satisfies TaskInput

export function FirstRun() {
  const navigate = useNavigate()
  const create = useMutation({
    mutationFn: (input: TaskInput) => createTask(input),
    onSuccess: async (task) => {
      queryClient.setQueryData(taskKeys.one(task.id), task)
      tell({ text: `${task.name} was created.` })
      await navigate({ to: '/tasks/$taskId', params: { taskId: task.id } })
    },
  })
  // With Belfry in a checkout or among a project's packages, `belfry` is not on the PATH.
  const command = shellLine([
    ['npx'],
    ...createParts({ name: 'hello', ...RING }, { server: location.origin }),
  ])
  return (
    <div className={classes.screen}>
      <div>
        <h1>No tasks yet</h1>
        <p className={classes.lead}>
          A task defines what to do and when. Start with an example, or create your own.
        </p>
      </div>
      <div className={classes.cards}>
        <article className={classes.card}>
          <h2>Ring every minute</h2>
          <p>Sleeps for one second every minute. Makes no network requests.</p>
          <Button
            loading={create.isPending}
            onClick={() => create.mutate({ name: 'Ring every minute', ...RING })}
          >
            Create task
          </Button>
        </article>
        <article className={classes.card}>
          <h2>Call a URL at 9:00</h2>
          <p>On weekdays, in the time zone {zoneWord(myZone())}, with retries. You only enter the URL.</p>
          <Button
            variant="default"
            renderRoot={(props) => <Link to="/tasks/new" search={{ when: 'words' }} {...props} />}
          >
            Set up
          </Button>
        </article>
        <article className={classes.card}>
          <h2>Use the API</h2>
          <p>Everything in this dashboard uses the HTTP API. The reference has examples.</p>
          <Button variant="default" component="a" href="/docs">
            API reference
          </Button>
        </article>
      </div>
      {create.error && <Failure error={create.error} />}
      <section aria-labelledby="terminal" className={classes.terminal}>
        <div className={classes.line}>
          <h2 id="terminal">Or use the terminal</h2>
          <CopyButton text={command} />
        </div>
        <CodeBlock text={command} label="In a terminal" />
      </section>
      <ServerLine />
    </div>
  )
}
