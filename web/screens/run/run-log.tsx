/** The log of a run's attempts, updated while they write it. */
import { useEffect, useState } from 'react'
import { zoneWord } from '../../../src/core/words/time.ts'
import { chosenProject } from '../../api/chosen-project.ts'
import { queryOf } from '../../api/client.ts'
import { isOpen } from '../../api/runs.ts'
import type { LogEnd, LogLine, RunWithAttempts } from '../../api/wire.ts'
import { useShownZone } from '../../components/instant.tsx'
import { Panel } from '../../components/panel.tsx'
import { TextView } from '../../components/text-view.tsx'
import { runLogText } from './run-log-text.ts'
import classes from './run-screen.module.css'

/** More lines slow down a browser, so only the newest are shown, with a link to the whole log. */
const MAX_LINES = 20_000
const REOPEN_MS = 2_000
/** Maximum number of times to reopen a refused stream before its first line, with increasing delays. */
const MOST_REFUSED = 10

interface RunLogProps {
  readonly run: RunWithAttempts
  readonly zone: string | null
}

export function RunLog({ run, zone }: RunLogProps) {
  const { lines, isWhole } = useLog(run.id)
  const shown = useShownZone(zone)
  if (lines.length === 0) return null
  return (
    <Panel title="Log" aside={<span className={classes.small}>times in {zoneWord(shown)}</span>}>
      {!isWhole && (
        <p>
          Only the newest {MAX_LINES} lines are shown.{' '}
          <a href={addressOf(run.id, { format: 'text', timestamps: 'true' })} download={`run-${run.id}.log`}>
            Download all
          </a>
        </p>
      )}
      <TextView
        label="Log of the run"
        fileName={`run-${run.id}.log`}
        text={runLogText(lines, shown)}
        isGrowing={isOpen(run)}
      />
    </Panel>
  )
}

const addressOf = (runId: string, query: Record<string, string> = {}): string =>
  `/v1/runs/${runId}/log${queryOf({ project: chosenProject(), ...query })}`

interface Followed {
  readonly lines: readonly LogLine[]
  readonly isWhole: boolean
}

const NOTHING: Followed = { lines: [], isWhole: true }

/** Follows the log. The stream ends with the run; a broken one continues after the last line. */
function useLog(runId: string): Followed {
  const [followed, setFollowed] = useState(NOTHING)
  useEffect(() => {
    let source: EventSource | undefined
    let reopening: ReturnType<typeof setTimeout> | undefined
    let last: string | undefined
    let refused = 0
    const open = () => {
      source = new EventSource(addressOf(runId, last === undefined ? {} : { after: last }))
      source.addEventListener('lines', ({ data }: MessageEvent<string>) => {
        const lines = JSON.parse(data) as LogLine[]
        last = lines.at(-1)?.id ?? last
        refused = 0
        setFollowed((before) => withMore(before, lines))
      })
      source.addEventListener('end', ({ data }: MessageEvent<string>) => {
        source?.close()
        if ((JSON.parse(data) as LogEnd).reason !== 'ended') reopening = setTimeout(open, REOPEN_MS)
      })
      // The browser reopens a broken stream by itself, but not a refused one, such as when a proxy cannot reach its server.
      source.onerror = () => {
        if (source?.readyState !== EventSource.CLOSED || ++refused > MOST_REFUSED) return
        reopening = setTimeout(open, refused * REOPEN_MS)
      }
    }
    open()
    return () => {
      source?.close()
      clearTimeout(reopening)
    }
  }, [runId])
  return followed
}

/** The note about omitted lines arrives again with a new count and replaces the previous one. */
function withMore({ lines, isWhole }: Followed, more: readonly LogLine[]): Followed {
  const renewed = new Set(more.map(({ id }) => id))
  const all = [...lines.filter(({ id }) => !renewed.has(id)), ...more]
  return { lines: all.slice(-MAX_LINES), isWhole: isWhole && all.length <= MAX_LINES }
}
