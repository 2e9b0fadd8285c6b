/** Whose task it is, and which workers it needs. */
import { TagsInput, Textarea, TextInput } from '@mantine/core'
import '@mantine/core/styles/Popover.css'
import '@mantine/core/styles/Pill.css'
import '@mantine/core/styles/PillsInput.css'
import { Folded } from './folded.tsx'
import { type PartProps, Question } from './part.tsx'
import classes from './task-form.module.css'

/** What is folded away, and comes out when it is wrong. */
const FOLDED = [
  '/key',
  '/queue',
  '/priority',
  '/labels',
  '/concurrencyKey',
  '/concurrencyLimit',
  '/tracingId',
  '/metadata',
]

export function Who({ draft, change, errorAt }: PartProps) {
  return (
    <Question number={4} title="Who and where">
      <div className={classes.two}>
        <TagsInput
          label="Tags"
          value={[...draft.tags]}
          error={errorAt('/tags')}
          onChange={(tags) => change({ tags })}
          comboboxProps={{ transitionProps: { duration: 0 }, withinPortal: false }}
        />
        <TextInput
          label="Owner"
          value={draft.owner}
          error={errorAt('/owner')}
          onChange={(event) => change({ owner: event.currentTarget.value })}
        />
      </div>
      <Folded summary="Key, queue, workers, limits and metadata" fields={FOLDED} errorAt={errorAt}>
        <TextInput
          label="Key"
          description="Your own name for it, unique"
          value={draft.key}
          error={errorAt('/key')}
          onChange={(event) => change({ key: event.currentTarget.value })}
        />
        <TextInput
          label="Queue"
          description="Where its runs wait for a worker"
          value={draft.queue}
          error={errorAt('/queue')}
          onChange={(event) => change({ queue: event.currentTarget.value })}
        />
        <TextInput
          label="Priority"
          description="The smaller number goes first"
          inputMode="numeric"
          value={draft.priority}
          error={errorAt('/priority')}
          onChange={(event) => change({ priority: event.currentTarget.value })}
        />
        <TagsInput
          label="Labels"
          description="What a worker must offer"
          value={[...draft.labels]}
          error={errorAt('/labels')}
          onChange={(labels) => change({ labels })}
          comboboxProps={{ transitionProps: { duration: 0 }, withinPortal: false }}
        />
        <TextInput
          label="Concurrency key"
          description="Tasks with the same key share places"
          value={draft.concurrencyKey}
          error={errorAt('/concurrencyKey')}
          onChange={(event) => change({ concurrencyKey: event.currentTarget.value })}
        />
        <TextInput
          label="Places"
          description="Runs with this key at once"
          inputMode="numeric"
          value={draft.concurrencyLimit}
          error={errorAt('/concurrencyLimit')}
          onChange={(event) => change({ concurrencyLimit: event.currentTarget.value })}
        />
        <TextInput
          label="Tracing id"
          description="Goes with its requests and log lines"
          value={draft.tracingId}
          error={errorAt('/tracingId')}
          onChange={(event) => change({ tracingId: event.currentTarget.value })}
        />
        <Textarea
          label="Metadata"
          description="Whatever you want to keep with it: a JSON object"
          placeholder="{}"
          autosize
          minRows={1}
          maxRows={10}
          value={draft.metadata}
          error={errorAt('/metadata')}
          onChange={(event) => change({ metadata: event.currentTarget.value })}
          classNames={{ input: classes.mono ?? '' }}
        />
      </Folded>
    </Question>
  )
}
