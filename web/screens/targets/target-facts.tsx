import { limitWords, rateWords } from '../../../src/core/words/target.ts'
import { formatCount, formatDuration } from '../../../src/core/words/time.ts'
import type { Target } from '../../api/wire.ts'
import { waitingWords } from '../../components/count-words.ts'
import { Fact, Facts } from '../../components/facts.tsx'
import { Distance, Instant } from '../../components/instant.tsx'
import { failedWords } from './target-table.tsx'

export function TargetFacts({ target }: { readonly target: Target }) {
  const { limit, latency, lastError, oldest } = target
  return (
    <Facts>
      <Fact label="Calls in progress">{formatCount(target.underWay)}</Fact>
      <Fact label="Waiting runs">
        {waitingWords(target)}
        {oldest && (
          <>
            , oldest due <Distance at={oldest} />
          </>
        )}
      </Fact>
      <Fact label="Latency (p50 / p95 / p99)">{latency === null ? '–' : latencyWords(latency)}</Fact>
      <Fact label="Failed in the last minute">{failedWords(target)}</Fact>
      <Fact label="Limit" isWide>
        {limitWords(limit)}
        {limit.since && (
          <>
            , since <Instant at={limit.since} precision="second" />
          </>
        )}
      </Fact>
      <Fact label="Rate">{rateWords(target.rate)}</Fact>
      <Fact label="Circuit" isWide>
        <Circuit circuit={target.circuit} />
      </Fact>
      {target.pausedAt && (
        <Fact label="Paused" isWide>
          <Instant at={target.pausedAt} />
          {target.pausedBy !== target.target && `, by ${target.pausedBy}`}
          {target.pauseReason !== null && `: ${target.pauseReason}`}
        </Fact>
      )}
      {lastError && (
        <Fact label="Last error" isWide>
          {lastError.message} (<code>{lastError.code}</code>), <Distance at={lastError.at} />
        </Fact>
      )}
    </Facts>
  )
}

const latencyWords = ({ p50, p95, p99 }: NonNullable<Target['latency']>): string =>
  [p50, p95, p99].map(formatDuration).join(' / ')

function Circuit({ circuit: { since, nextProbeAt, error } }: { readonly circuit: Target['circuit'] }) {
  if (since === null) return 'closed'
  return (
    <>
      open since <Instant at={since} precision="second" />
      {error && ` (${error.message})`}
      {nextProbeAt && (
        <>
          , next probe <Distance at={nextProbeAt} />
        </>
      )}
    </>
  )
}
