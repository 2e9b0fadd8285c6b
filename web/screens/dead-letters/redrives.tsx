import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import { formatCount } from '../../../src/core/words/time.ts'
import { cancelRedrive, letterKeys, redrivesQuery } from '../../api/dead-letters.ts'
import { queryClient } from '../../api/query-client.ts'
import type { Redrive } from '../../api/wire.ts'
import { Instant } from '../../components/instant.tsx'
import { Panel } from '../../components/panel.tsx'
import type { AnyState } from '../../components/state.ts'
import { StateMark } from '../../components/state-mark.tsx'
import { tellFailure } from '../../components/toast.tsx'
import classes from './dead-letters.module.css'

const LOOKS_LIKE: Readonly<Record<Redrive['state'], AnyState>> = {
  running: 'running',
  completed: 'completed',
  cancelled: 'cancelled',
  expired: 'timed_out',
}

/** The latest redrives and their progress. */
export function Redrives() {
  const { data: redrives = [], refetch } = useQuery(redrivesQuery)
  const redriven = redrives.reduce((sum, item) => sum + item.redriven, 0)
  // Redriven runs leave the list, so each step of a redrive changes it.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the count says that the list is another one.
  useEffect(() => {
    void queryClient.invalidateQueries({ queryKey: letterKeys.all })
  }, [redriven])
  if (redrives.length === 0) return null
  const stop = async (id: string) => {
    await cancelRedrive(id).catch(tellFailure)
    void refetch()
  }
  return (
    <Panel title="Latest redrives" flush>
      <ul className={classes.groups} aria-label="Redrives">
        {redrives.map(({ id, state, rate, redriven, refused, waiting, createdAt, lastError }) => (
          <li key={id} className={classes.redrive}>
            <StateMark state={LOOKS_LIKE[state]} text={state} />
            <span>
              <Instant at={createdAt} precision="second" />
            </span>
            <span className={classes.small}>
              {formatCount(redriven)} rerun at {rate}/s, {formatCount(refused)} refused,{' '}
              {formatCount(waiting)} waiting
              {lastError && ` · ${lastError}`}
            </span>
            {state === 'running' && (
              <Button size="xs" variant="default" className={classes.push} onClick={() => void stop(id)}>
                Stop
              </Button>
            )}
          </li>
        ))}
      </ul>
    </Panel>
  )
}
