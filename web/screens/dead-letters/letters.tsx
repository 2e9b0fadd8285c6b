import { Button } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { outcomeWords } from '../../../src/core/words/outcome.ts'
import { dismiss, letterKeys, lettersQuery } from '../../api/dead-letters.ts'
import { queryClient } from '../../api/query-client.ts'
import { retryRun } from '../../api/runs.ts'
import type { DeadLetter, LetterFilter } from '../../api/wire.ts'
import { Failure } from '../../components/failure.tsx'
import { Instant } from '../../components/instant.tsx'
import { Bones } from '../../components/panel.tsx'
import { tell, tellFailure } from '../../components/toast.tsx'
import { useUntilFound } from '../../components/until-found.ts'
import classes from './dead-letters.module.css'

/** The runs of a group, latest first, each with its own actions. */
export function Letters({ filter }: { readonly filter: LetterFilter }) {
  const query = useInfiniteQuery(lettersQuery(filter))
  const letters = query.data?.pages.flatMap(({ items }) => items) ?? []
  const isSearching = useUntilFound(query, letters.length)
  if (isSearching) return <Bones count={2} />
  if (query.isError && !query.data)
    return <Failure error={query.error} onRetry={() => void query.refetch()} />
  return (
    <div className={classes.letters}>
      <ul aria-label="Runs of this group">
        {letters.map((letter) => (
          <Letter key={letter.id} letter={letter} />
        ))}
      </ul>
      {query.hasNextPage && (
        <Button
          size="xs"
          variant="default"
          loading={query.isFetchingNextPage}
          onClick={() => void query.fetchNextPage()}
        >
          Earlier runs
        </Button>
      )}
    </div>
  )
}

function Letter({ letter }: { readonly letter: DeadLetter }) {
  const settle = async (act: () => Promise<React.ReactNode>) => {
    try {
      tell({ text: await act() })
    } catch (error) {
      tellFailure(error)
    }
    void queryClient.invalidateQueries({ queryKey: letterKeys.all })
  }
  const again = () =>
    settle(async () => {
      const run = await retryRun(letter.id)
      return (
        <>
          A new run was created.{' '}
          <Link to="/runs/$runId" params={{ runId: run.id }}>
            View run
          </Link>
        </>
      )
    })
  const drop = () =>
    settle(async () => {
      await dismiss({ runIds: [letter.id] })
      return 'Dismissed. The run stays in the history.'
    })
  return (
    <li className={classes.letter}>
      <span className={classes.letterTask}>
        <Link to="/runs/$runId" params={{ runId: letter.id }}>
          {letter.taskName ?? letter.taskId.slice(0, 13)}
        </Link>
      </span>
      <span className={classes.small}>
        <Instant at={letter.endedAt ?? letter.scheduledFor} precision="second" />
      </span>
      <span className={classes.words}>{outcomeWords(letter)}</span>
      <span className={classes.acts}>
        <Button size="compact-xs" variant="default" onClick={() => void again()}>
          Rerun
        </Button>
        <Button size="compact-xs" variant="default" onClick={() => void drop()}>
          Dismiss
        </Button>
      </span>
    </li>
  )
}
