/** Creates a project. */
import type { ChangeOptions } from '../../api/client.ts'
import { createProject } from '../../api/projects.ts'
import { ActDialog } from '../../components/act-dialog.tsx'
import { useKeptFields } from '../../components/kept.ts'
import { TextField } from '../../components/text-field.tsx'
import { tell } from '../../components/toast.tsx'
import { readProjectsAgain } from './projects.tsx'

const START = () => ({ name: '' })

export function ProjectPanel({ onClose }: { readonly onClose: () => void }) {
  const kept = useKeptFields('project', START)
  const { fields, change } = kept
  const name = fields.name.trim()
  const go = async (options: ChangeOptions) => {
    await createProject(name, options)
    readProjectsAgain()
    tell({ text: `The project ${name} was created.` })
    onClose()
  }
  return (
    <ActDialog
      title="Create project"
      onClose={onClose}
      kept={kept}
      isReady={name !== ''}
      effects={['Tasks, queues, workers and keys of a project are not visible in other projects.']}
      twin={{ method: 'POST', path: '/v1/projects', body: { name } }}
      command={`belfry project create ${name}`}
      button="Create project"
      act={go}
    >
      <TextField
        label="Name"
        pointer="/name"
        description="Lowercase letters, digits and hyphens. It cannot be changed."
        placeholder="web-shop"
        maxLength={63}
        value={fields.name}
        onText={(next) => change({ name: next })}
        data-autofocus
      />
    </ActDialog>
  )
}
