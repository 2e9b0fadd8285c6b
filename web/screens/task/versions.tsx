/** The versions of the task: who changed what, when and why, and how to restore one. */
import { Button } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { itemsOf } from '../../api/pages.ts'
import { versionsQuery } from '../../api/versions.ts'
import type { Task, VersionSummary } from '../../api/wire.ts'
import { ChangeList } from '../../components/change-list.tsx'
import { Failure } from '../../components/failure.tsx'
import { Instant } from '../../components/instant.tsx'
import { More } from '../../components/paged.tsx'
import { Bones, Panel } from '../../components/panel.tsx'
import { Rollback } from './panels/rollback.tsx'
import classes from './versions.module.css'

export function Versions({ task }: { readonly task: Task }) {
  const query = useInfiniteQuery(versionsQuery(task))
  const [asked, setAsked] = useState<number | null>(null)
  const versions = itemsOf(query.data)
  if (query.isPending) return <Bones count={3} />
  if (query.isError && !query.data)
    return <Failure error={query.error} onRetry={() => void query.refetch()} />
  return (
    <Panel
      title="Versions, latest first"
      aside={
        <Link to="/audit-log" search={{ subject: task.id }}>
          All changes
        </Link>
      }
      flush
    >
      <ol className={classes.list} aria-label="Versions">
        {versions.map((version) => (
          <li key={version.version}>
            <VersionRow
              version={version}
              zone={task.timezone}
              canReturn={task.state !== 'cancelled'}
              onReturn={() => setAsked(version.version)}
            />
          </li>
        ))}
      </ol>
      <More query={query}>Earlier versions</More>
      {asked !== null && <Rollback task={task} version={asked} onClose={() => setAsked(null)} />}
    </Panel>
  )
}

interface VersionRowProps {
  readonly version: VersionSummary
  readonly zone: string | null
  readonly canReturn: boolean
  readonly onReturn: () => void
}

function VersionRow({ version, zone, canReturn, onReturn }: VersionRowProps) {
  const { isCurrent, madeAt, madeBy, reason, rollbackOf, changes } = version
  return (
    <article className={classes.row}>
      <div className={classes.head}>
        <strong className={classes.number}>{version.version}</strong>
        {isCurrent && <span className={classes.current}>current</span>}
        <Instant at={madeAt} zone={zone} precision="second" />
        {madeBy && <span className={classes.small}>by {madeBy}</span>}
        {rollbackOf !== null && <span className={classes.small}>rollback to version {rollbackOf}</span>}
        {!isCurrent && canReturn && (
          <Button size="xs" variant="default" className={classes.push} onClick={onReturn}>
            Roll back to {version.version}…
          </Button>
        )}
      </div>
      {reason && <p className={classes.reason}>{reason}</p>}
      {changes.length === 0 ? (
        <p className={classes.small}>{version.version === 1 ? 'Created.' : 'No changes.'}</p>
      ) : (
        <ChangeList changes={changes} label={`Changes in version ${version.version}`} />
      )}
    </article>
  )
}
