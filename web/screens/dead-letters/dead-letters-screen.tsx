/** Permanently failed runs, grouped by error: one incident, one row, one button. */
import { Button, NativeSelect } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { useMemo } from 'react'
import { GROUPINGS, type Grouping } from '../../../src/core/run/grouping.ts'
import { formatCount } from '../../../src/core/words/time.ts'
import { groupsQuery } from '../../api/dead-letters.ts'
import type { LetterFilter } from '../../api/wire.ts'
import { SinceFilter } from '../../components/list-filters.tsx'
import { Nothing } from '../../components/nothing.tsx'
import { Paged } from '../../components/paged.tsx'
import { Panel } from '../../components/panel.tsx'
import { Filters, Screen } from '../../components/screen.tsx'
import { type Span, useFrom } from '../../components/span.ts'
import classes from './dead-letters.module.css'
import { DismissPanel } from './dismiss-panel.tsx'
import { groupFilter } from './group-filter.ts'
import { GroupList } from './group-list.tsx'
import { RedrivePanel } from './redrive-panel.tsx'
import { Redrives } from './redrives.tsx'
import type { LetterSearch } from './search.ts'

const route = getRouteApi('/dead-letters')
const BY_WORDS: Readonly<Record<Grouping, string>> = {
  error: 'By error',
  task: 'By task',
  hour: 'By hour',
}

export function DeadLettersScreen() {
  const { by = 'error', since, task, group, panel } = route.useSearch()
  const navigate = useNavigate()
  const from = useFrom(since)
  const around = useMemo(
    (): Omit<LetterFilter, 'runIds'> => ({
      ...(from === undefined ? {} : { from }),
      ...(task === undefined ? {} : { taskId: task }),
    }),
    [from, task],
  )
  const query = useQuery({ ...groupsQuery(by, around), placeholderData: keepPreviousData })
  // Undefined removes a parameter from the address.
  const go = (change: { readonly [Name in keyof LetterSearch]?: LetterSearch[Name] | undefined }) =>
    void navigate({
      to: '.',
      search: (before: Record<string, unknown>) => ({ ...before, ...change }) as never,
      replace: true,
      resetScroll: false,
    })
  const groups = query.data?.items ?? []
  const total = groups.reduce((sum, { count }) => sum + count, 0)
  const opened = groups.find(({ key }) => key === group)
  const meant = panel && opened ? groupFilter(by, opened.key, around) : around
  const close = () => go({ panel: undefined })
  // If the group of an open panel has been settled meanwhile, the panel closes; without the group it would apply to all dead
  // letters.
  const shown = query.data && (group === undefined || opened) ? panel : undefined
  return (
    <Screen
      title="Dead letters"
      aside={
        query.data &&
        total > 0 && (
          <span className={classes.small} role="status">
            {formatCount(total)}
            {query.data.isComplete ? '' : '+'} permanently failed {total === 1 ? 'run needs' : 'runs need'}{' '}
            attention
          </span>
        )
      }
    >
      <Filters>
        <NativeSelect
          aria-label="Group by"
          value={by}
          onChange={(event) => go({ by: event.currentTarget.value as Grouping, group: undefined })}
          data={GROUPINGS.map((value) => ({ value, label: BY_WORDS[value] }))}
        />
        <SinceFilter
          value={since}
          onChoose={(chosen) => go({ since: (chosen || undefined) as Span | undefined })}
        />
        {task && (
          <Button variant="default" onClick={() => go({ task: undefined })}>
            One task only: show all
          </Button>
        )}
        {total > 0 && (
          <span className={classes.all}>
            <Button variant="default" onClick={() => go({ group: undefined, panel: 'redrive' })}>
              Rerun all…
            </Button>
            <Button variant="default" onClick={() => go({ group: undefined, panel: 'dismiss' })}>
              Dismiss all…
            </Button>
          </span>
        )}
      </Filters>
      <Paged
        query={query}
        count={groups.length}
        bones={4}
        nothing={<NoLetters isFiltered={since !== undefined || task !== undefined} />}
      >
        <Panel title={`Permanently failed, ${BY_WORDS[by].toLowerCase()}`} flush>
          <GroupList
            groups={groups}
            by={by}
            around={around}
            opened={opened?.key ?? null}
            onOpen={(key) => go({ group: key ?? undefined })}
            onAct={(key, act) => go({ group: key, panel: act })}
          />
        </Panel>
      </Paged>
      <Redrives />
      {shown === 'redrive' && (
        <RedrivePanel filter={meant} {...(opened ? { group: opened } : {})} by={by} onClose={close} />
      )}
      {shown === 'dismiss' && (
        <DismissPanel filter={meant} {...(opened ? { group: opened } : {})} by={by} onClose={close} />
      )}
    </Screen>
  )
}

function NoLetters({ isFiltered }: { readonly isFiltered: boolean }) {
  return isFiltered ? (
    <Nothing words="No dead letters match these filters.">
      <Link to="/dead-letters" search={{}}>
        Show all dead letters
      </Link>
    </Nothing>
  ) : (
    <Nothing words="No dead letters. Permanently failed runs stay here until they are rerun or dismissed.">
      <Link to="/runs" search={{ state: 'permanently_failed' }}>
        All permanently failed runs
      </Link>
    </Nothing>
  )
}
