/** The queues of the project, by name. */
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { useMay } from '../../api/me.ts'
import { itemsOf } from '../../api/pages.ts'
import { queuesQuery } from '../../api/queues.ts'
import type { Queue } from '../../api/wire.ts'
import { waitingWords } from '../../components/count-words.ts'
import { Distance } from '../../components/instant.tsx'
import { Nothing } from '../../components/nothing.tsx'
import { More, Paged } from '../../components/paged.tsx'
import { Panel } from '../../components/panel.tsx'
import { Filters, Screen } from '../../components/screen.tsx'
import { StateMark } from '../../components/state-mark.tsx'
import { Table } from '../../components/table.tsx'
import { TypedFilter } from '../../components/typed-filter.tsx'
import { PauseButton } from './pause-button.tsx'
import { runningWords, stateOf } from './queue-words.ts'

const route = getRouteApi('/queues')
/** The event stream does not carry counts of waiting runs, so they are polled. */
export const LOOK_AGAIN_MS = 3_000
const COLUMNS = ['State', 'Queue', 'Waiting', 'Oldest due', 'Running / limit', 'Rate'] as const

export function QueuesScreen() {
  const { q } = route.useSearch()
  const navigate = useNavigate()
  const query = useInfiniteQuery({
    ...queuesQuery(q),
    placeholderData: keepPreviousData,
    refetchInterval: LOOK_AGAIN_MS,
  })
  const queues = itemsOf(query.data)
  const isOperator = useMay()('operate')
  const search = (typed: string) =>
    void navigate({ to: '/queues', search: typed === '' ? {} : { q: typed }, replace: true })
  return (
    <Screen title="Queues">
      <Filters>
        <TypedFilter label="Name" value={q ?? ''} onChange={search} isMain />
      </Filters>
      <Paged
        query={query}
        count={queues.length}
        bones={5}
        nothing={
          <Nothing words="No queues match this name.">
            <Link to="/queues" search={{}}>
              Show all queues
            </Link>
          </Nothing>
        }
      >
        <Panel title="By name" flush>
          <Table label="Queues" columns={isOperator ? [...COLUMNS, 'Actions'] : COLUMNS}>
            {queues.map((queue) => (
              <QueueRow key={queue.name} queue={queue} isOperator={isOperator} />
            ))}
          </Table>
          <More query={query}>More queues</More>
        </Panel>
      </Paged>
    </Screen>
  )
}

function QueueRow({ queue, isOperator }: { readonly queue: Queue; readonly isOperator: boolean }) {
  return (
    <tr>
      <td>
        <StateMark {...stateOf(queue)} />
      </td>
      <th scope="row">
        <Link to="/queues/$queue" params={{ queue: queue.name }}>
          {queue.name}
        </Link>
      </th>
      <td data-label="waiting">{waitingWords(queue)}</td>
      <td data-label="oldest due">{queue.oldest === null ? '–' : <Distance at={queue.oldest} />}</td>
      <td data-label="running">{queue.concurrencyLimit === null ? '–' : runningWords(queue)}</td>
      <td data-label="rate">{queue.rate ?? '–'}</td>
      {isOperator && (
        <td>
          <PauseButton queue={queue} size="xs" />
        </td>
      )}
    </tr>
  )
}
