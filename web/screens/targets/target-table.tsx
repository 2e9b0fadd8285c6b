import { Link } from '@tanstack/react-router'
import { formatCount, formatDuration } from '../../../src/core/words/time.ts'
import type { Target } from '../../api/wire.ts'
import { waitingWords } from '../../components/count-words.ts'
import { Distance } from '../../components/instant.tsx'
import { Table } from '../../components/table.tsx'
import { TargetMark } from './target-mark.tsx'

export const failedWords = ({ calls, failures }: Pick<Target, 'calls' | 'failures'>): string =>
  calls === 0 ? '–' : `${formatCount(failures)} of ${formatCount(calls)}`

const COLUMNS = [
  'State',
  'Target',
  'Calls / limit',
  'Waiting',
  'p95',
  'Failed (last minute)',
  'Since',
] as const

export function TargetTable({ targets }: { readonly targets: readonly Target[] }) {
  return (
    <Table label="Targets" columns={COLUMNS}>
      {targets.map((target) => (
        <TargetRow key={target.target} target={target} />
      ))}
    </Table>
  )
}

function TargetRow({ target }: { readonly target: Target }) {
  const { underWay, limit, latency } = target
  const since = sinceOf(target)
  return (
    <tr>
      <td>
        <TargetMark state={target.state} isPattern={target.isPattern} />
      </td>
      <th scope="row">
        <Link to="/targets/$target" params={{ target: target.target }}>
          {target.target}
        </Link>
      </th>
      <td data-label="calls">
        {formatCount(underWay)} / {formatCount(limit.current ?? limit.perNode)}
      </td>
      <td data-label="waiting">{waitingWords(target)}</td>
      <td data-label="p95">{latency === null ? '–' : formatDuration(latency.p95)}</td>
      <td data-label="failed">{failedWords(target)}</td>
      <td data-label="since">{since === null ? '–' : <Distance at={since} />}</td>
    </tr>
  )
}

/** Since when the target has been in an unusual state. */
function sinceOf({ state, pausedAt, circuit, limit }: Target): string | null {
  return state === 'paused' ? pausedAt : (circuit.since ?? limit.since)
}
