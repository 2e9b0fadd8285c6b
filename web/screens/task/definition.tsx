import type { Task } from '../../api/wire.ts'
import { CopyButton } from '../../components/copy.tsx'
import { CodeBlock, Panel } from '../../components/panel.tsx'

/** The whole definition of the task, as the API returns it. */
export function Definition({ task }: { readonly task: Task }) {
  const text = JSON.stringify(task, null, 2)
  return (
    <Panel title="As JSON" aside={<CopyButton text={text} />}>
      <CodeBlock text={text} label="Definition" />
    </Panel>
  )
}
