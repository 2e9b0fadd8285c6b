/** Nothing is there yet: two tasks to begin with, and the same from a terminal. */
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
      tell({ text: `${task.name} is created.` })
      await navigate({ to: '/tasks/$taskId', params: { taskId: task.id } })
    },
  })
  // Whoever started Belfry from its folder, or has it among the packages of a project, has no `belfry` on the path.
  const command = shellLine([
    ['npx'],
    ...createParts({ name: 'hello', ...RING }, { server: location.origin }),
  ])
  return (
    <div className={classes.screen}>
      <div>
        <h1>Nothing is scheduled yet</h1>
        <p className={classes.lead}>
          A task says what to do and when. Begin with one of these, or with your own.
        </p>
      </div>
      <div className={classes.cards}>
        <article className={classes.card}>
          <h2>Ring every minute</h2>
          <p>Sleeps for a second, each minute. Nothing leaves this machine; watch it run.</p>
          <Button
            loading={create.isPending}
            onClick={() => create.mutate({ name: 'Ring every minute', ...RING })}
          >
            Create it
          </Button>
        </article>
        <article className={classes.card}>
          <h2>Call a URL at 9:00</h2>
          <p>
            On weekdays, by the clock of {zoneWord(myZone())}, with retries. You only fill in the address.
          </p>
          <Button
            variant="default"
            renderRoot={(props) => <Link to="/tasks/new" search={{ when: 'words' }} {...props} />}
          >
            Fill it in
          </Button>
        </article>
        <article className={classes.card}>
          <h2>From your own program</h2>
          <p>Everything here goes through the HTTP API; it is described with examples.</p>
          <Button variant="default" component="a" href="/docs">
            Read about the API
          </Button>
        </article>
      </div>
      {create.error && <Failure error={create.error} />}
      <section aria-labelledby="terminal" className={classes.terminal}>
        <div className={classes.line}>
          <h2 id="terminal">Or in a terminal</h2>
          <CopyButton text={command} />
        </div>
        <CodeBlock text={command} label="In a terminal" />
      </section>
      <ServerLine />
    </div>
  )
}
