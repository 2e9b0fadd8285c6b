import { useNavigate } from '@tanstack/react-router'
import type { Task } from '../../../api/wire.ts'
import type { TaskPanel } from '../../../app/router.tsx'
import { DeleteTask } from '../../../components/delete-task.tsx'
import { BackfillPanel } from './backfill-panel.tsx'
import { PausePanel } from './pause-panel.tsx'
import { SkipPanel } from './skip-panel.tsx'
import { TriggerPanel } from './trigger-panel.tsx'

interface TaskPanelsProps {
  readonly task: Task
  readonly panel: TaskPanel
  readonly onClose: () => void
}

/** The panel that the address names. */
export function TaskPanels({ task, panel, onClose }: TaskPanelsProps) {
  const navigate = useNavigate()
  const props = { task, onClose }
  switch (panel) {
    case 'trigger':
      return <TriggerPanel {...props} />
    case 'pause':
      return <PausePanel {...props} />
    case 'skip':
      return <SkipPanel {...props} />
    case 'backfill':
      return <BackfillPanel {...props} />
    case 'delete':
      return <DeleteTask {...props} onDeleted={() => void navigate({ to: '/tasks' })} />
  }
}
