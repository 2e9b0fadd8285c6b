/** One queue: its state, its limits and its waiting runs. */
import { Button } from '@mantine/core'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import { rateWords } from '../../../src/core/words/target.ts'
import { isNotThere } from '../../api/client.ts'
import { useMay } from '../../api/me.ts'
import { itemsOf } from '../../api/pages.ts'
import { queueQuery, waitingQuery } from '../../api/queues.ts'
import type { Queue } from '../../api/wire.ts'
import { waitingWords } from '../../components/count-words.ts'
import { Fact, Facts } from '../../components/facts.tsx'
import { Failure } from '../../components/failure.tsx'
import { Distance, Instant } from '../../components/instant.tsx'
import { Nothing } from '../../components/nothing.tsx'
import { More, Paged } from '../../components/paged.tsx'
import { Bones, Panel } from '../../components/panel.tsx'
import { Screen } from '../../components/screen.tsx'
import { StateMark } from '../../components/state-mark.tsx'
import { Table } from '../../components/table.tsx'
import { LimitPanel } from './limit-panel.tsx'
import { PauseButton } from './pause-button.tsx'
import { drainWords, runningWords, stateOf } from './queue-words.ts'
import { LOOK_AGAIN_MS } from './queues-screen.tsx'

const route = getRouteApi('/queues/$queue')
const COLUMNS = ['Task', 'Due', 'Attempts so far'] as const

export function QueueScreen() {
  const { queue: name } = route.useParams()
  const { data: queue, error, refetch } = useQuery({ ...queueQuery(name), refetchInterval: LOOK_AGAIN_MS })
  if (error && (!queue || isNotThere(error)))
    return isNotThere(error) ? (
      <Nothing
        words={`Queue ${name} does not exist. A queue is created when a task first uses it, and removed when it has been unused for a long time.`}
      >
        <Link to="/queues">All queues</Link>
      </Nothing>
    ) : (
      <Failure error={error} onRetry={() => void refetch()} />
    )
  if (!queue) return <Bones count={4} />
  return (
    <Screen title={name} state={<StateMark {...stateOf(queue)} />} aside={<Acts queue={queue} />}>
      <QueueFacts queue={queue} />
      <WaitingRuns name={name} />
    </Screen>
  )
}

function Acts({ queue }: { readonly queue: Queue }) {
  const [isOpen, setOpen] = useState(false)
  const may = useMay()
  return (
    <>
      {may('operate') && <PauseButton queue={queue} />}
      {may('edit') && (
        <Button variant="default" onClick={() => setOpen(true)}>
          Set limits…
        </Button>
      )}
      {isOpen && <LimitPanel queue={queue} onClose={() => setOpen(false)} />}
    </>
  )
}

function QueueFacts({ queue }: { readonly queue: Queue }) {
  const drains = drainWords(queue)
  return (
    <Facts>
      <Fact label="Waiting runs">
        {waitingWords(queue)}
        {drains && `, ${drains}`}
      </Fact>
      <Fact label="Oldest due">{queue.oldest === null ? '–' : <Distance at={queue.oldest} />}</Fact>
      <Fact label="Running / limit">{runningWords(queue)}</Fact>
      <Fact label="Rate">{rateWords({ limit: queue.rate, burst: queue.burst })}</Fact>
      {queue.pausedAt && (
        <Fact label="Paused">
          <Instant at={queue.pausedAt} />
        </Fact>
      )}
    </Facts>
  )
}

function WaitingRuns({ name }: { readonly name: string }) {
  const query = useInfiniteQuery({ ...waitingQuery(name), refetchInterval: LOOK_AGAIN_MS })
  const runs = itemsOf(query.data)
  return (
    <Paged
      query={query}
      count={runs.length}
      bones={4}
      nothing={<Nothing words="No runs are waiting: each starts when it comes due." />}
    >
      <Panel title="Waiting runs, next first" flush>
        <Table label="Waiting runs" columns={COLUMNS}>
          {runs.map((run) => (
            <tr key={run.id}>
              <th scope="row">
                <Link to="/runs/$runId" params={{ runId: run.id }}>
                  {run.taskName ?? run.taskId}
                </Link>
              </th>
              <td data-label="due">
                <Instant at={run.scheduledFor} precision="second" />
              </td>
              <td data-label="attempts so far">{run.attempt}</td>
            </tr>
          ))}
        </Table>
        <More query={query}>More waiting runs</More>
      </Panel>
    </Paged>
  )
}
