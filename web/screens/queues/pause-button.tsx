import { Button, type ButtonProps } from '@mantine/core'
import { pauseQueue, resumeQueue } from '../../api/queues.ts'
import type { Queue } from '../../api/wire.ts'
import { Icon } from '../../components/icon.tsx'
import { tell, tellFailure } from '../../components/toast.tsx'

/** Pausing and resuming undo each other, so neither asks for confirmation. */
async function toggle({ name, isPaused }: Queue): Promise<void> {
  try {
    await (isPaused ? resumeQueue : pauseQueue)(name)
    tell({
      text: `Queue ${name} was ${isPaused ? 'resumed' : 'paused'}.`,
      undo: () => (isPaused ? pauseQueue : resumeQueue)(name),
    })
  } catch (error) {
    tellFailure(error)
  }
}

interface PauseButtonProps extends ButtonProps {
  readonly queue: Queue
}

export function PauseButton({ queue, ...props }: PauseButtonProps) {
  const label = queue.isPaused ? 'Resume' : 'Pause'
  return (
    <Button
      {...props}
      {...(queue.isPaused && props.size === undefined ? {} : { variant: 'default' })}
      leftSection={<Icon name={queue.isPaused ? 'resume' : 'pause'} size={14} />}
      onClick={() => void toggle(queue)}
      aria-label={`${label} ${queue.name}`}
    >
      {label}
    </Button>
  )
}
