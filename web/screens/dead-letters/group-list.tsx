import { Button } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { Grouping } from '../../../src/core/run/grouping.ts'
import { formatCount } from '../../../src/core/words/time.ts'
import type { LetterGroup } from '../../api/dead-letters.ts'
import type { LetterFilter } from '../../api/wire.ts'
import { Icon } from '../../components/icon.tsx'
import { Instant } from '../../components/instant.tsx'
import classes from './dead-letters.module.css'
import { groupFilter, groupTitle } from './group-filter.ts'
import { Letters } from './letters.tsx'
import type { LetterPanel } from './search.ts'

interface GroupListProps {
  readonly groups: readonly LetterGroup[]
  readonly by: Grouping
  readonly around: LetterFilter
  readonly opened: string | null
  readonly onOpen: (key: string | null) => void
  readonly onAct: (key: string, act: LetterPanel) => void
}

/** The groups, largest first. An opened group shows its runs. */
export function GroupList({ groups, by, around, opened, onOpen, onAct }: GroupListProps) {
  return (
    <ul className={classes.groups} aria-label="Groups">
      {groups.map((group) => {
        const isOpen = group.key === opened
        return (
          <li key={group.key} className={classes.group}>
            <div className={classes.row}>
              <button
                type="button"
                className={classes.title}
                aria-expanded={isOpen}
                onClick={() => onOpen(isOpen ? null : group.key)}
              >
                <span className={classes.turn} data-open={isOpen || undefined}>
                  <Icon name="chevron" size={14} />
                </span>
                {by === 'hour' ? (
                  <span>
                    Hour from <Instant at={group.key} />
                  </span>
                ) : (
                  <span className={classes.words} title={group.pattern ?? undefined}>
                    {groupTitle(by, group)}
                  </span>
                )}
              </button>
              <strong className={classes.count}>{formatCount(group.count)}</strong>
              <span className={classes.what}>
                {group.code && <code>{[group.code, group.status].filter(Boolean).join(' ')}</code>}
                {group.taskId ? (
                  <Link to="/tasks/$taskId" params={{ taskId: group.taskId }} className={classes.words}>
                    {group.taskName ?? group.taskId.slice(0, 13)}
                  </Link>
                ) : (
                  <span>{formatCount(group.tasks)} tasks</span>
                )}
              </span>
              <span className={classes.when}>
                <span>
                  last <Instant at={group.lastAt} precision="second" />
                </span>
                <span>
                  first <Instant at={group.firstAt} precision="second" />
                </span>
              </span>
              <span className={classes.acts}>
                <Button size="xs" variant="default" onClick={() => onAct(group.key, 'redrive')}>
                  Rerun…
                </Button>
                <Button size="xs" variant="default" onClick={() => onAct(group.key, 'dismiss')}>
                  Dismiss…
                </Button>
              </span>
            </div>
            {isOpen && <Letters filter={groupFilter(by, group.key, around)} />}
          </li>
        )
      })}
    </ul>
  )
}
