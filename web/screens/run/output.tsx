/** The output of an attempt: the response to a request, the result and log of a handler, or anything else. */
import { memberOf } from '../../../src/core/words/outcome.ts'
import { zoneWord } from '../../../src/core/words/time.ts'
import type { Attempt } from '../../api/wire.ts'
import { useShownZone } from '../../components/instant.tsx'
import { TextView } from '../../components/text-view.tsx'
import { logLines, logText } from './log-text.ts'

interface OutputProps {
  readonly attempt: Attempt
  readonly zone: string | null
}

export function Output({ attempt, zone }: OutputProps) {
  const { runId, number, output } = attempt
  const lines = logLines(output)
  if (lines !== null) return <Handled attempt={attempt} zone={zone} />
  const body = memberOf(output, 'body')
  if (typeof memberOf(output, 'status') !== 'number' || typeof body !== 'string')
    return <Part title="Output" number={number} file={`${runId}-${number}-output.json`} value={output} />
  const { body: _, ...head } = output as Record<string, unknown>
  return (
    <>
      <Part title="Response" number={number} file={`${runId}-${number}-response.json`} value={head} />
      {body !== '' && (
        <>
          <h3>Body{memberOf(output, 'truncated') === true && ' (truncated)'}</h3>
          <TextView
            label={`Body of attempt ${number}`}
            fileName={`${runId}-${number}-body.txt`}
            text={body}
          />
        </>
      )}
    </>
  )
}

/** The result of a handler and its log. */
function Handled({ attempt: { runId, number, output }, zone }: OutputProps) {
  const shown = useShownZone(zone)
  const { log: _, ...rest } = output as Record<string, unknown>
  const lines = logLines(output) ?? []
  return (
    <>
      {Object.keys(rest).length > 0 && (
        <Part title="Result" number={number} file={`${runId}-${number}-result.json`} value={rest} />
      )}
      {lines.length > 0 && (
        <>
          <h3>
            Log, {lines.length} {lines.length === 1 ? 'line' : 'lines'}, times in {zoneWord(shown)}
          </h3>
          <TextView
            label={`Log of attempt ${number}`}
            fileName={`${runId}-${number}-log.txt`}
            text={logText(lines, shown)}
          />
        </>
      )}
    </>
  )
}

interface PartProps {
  readonly title: string
  readonly number: number
  readonly file: string
  readonly value: unknown
}

function Part({ title, number, file, value }: PartProps) {
  return (
    <>
      <h3>{title}</h3>
      <TextView
        label={`${title} of attempt ${number}`}
        fileName={file}
        text={JSON.stringify(value, null, 2)}
      />
    </>
  )
}
