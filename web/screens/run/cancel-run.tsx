/** Asks for confirmation before a run is cancelled. */
import type { ChangeOptions } from '../../api/client.ts'
import { queryClient } from '../../api/query-client.ts'
import { cancelRun, runKeys } from '../../api/runs.ts'
import type { Run } from '../../api/wire.ts'
import { ActDialog } from '../../components/act-dialog.tsx'
import { tell } from '../../components/toast.tsx'

interface CancelRunProps {
  readonly run: Run
  readonly onClose: () => void
}

export function CancelRun({ run, onClose }: CancelRunProps) {
  const cancel = async (options: ChangeOptions) => {
    queryClient.setQueryData(runKeys.one(run.id), await cancelRun(run.id, options))
    tell({ text: 'The run is being cancelled.' })
    onClose()
  }
  return (
    <ActDialog
      title="Cancel this run?"
      size="md"
      onClose={onClose}
      effects={[
        effectOf(run),
        'Other runs of its task are not affected.',
        'A cancelled run can be rerun, as a new run.',
      ]}
      twin={{ method: 'POST', path: `/v1/runs/${run.id}/cancel` }}
      command={`belfry run cancel ${run.id}`}
      button="Cancel run"
      isHarmful
      keep="Keep it"
      act={cancel}
    />
  )
}

function effectOf({ state, attempt }: Run): string {
  if (state === 'running') return 'Its attempt is stopped, and it is not attempted again.'
  return attempt === 0 ? 'It does not start.' : 'It is not attempted again.'
}
