/** Asks for confirmation before a file is deleted. */
import { useNavigate } from '@tanstack/react-router'
import type { ChangeOptions } from '../../api/client.ts'
import { deleteFile, fileKeys } from '../../api/files.ts'
import { queryClient } from '../../api/query-client.ts'
import type { FileInUse } from '../../api/wire.ts'
import { ActDialog } from '../../components/act-dialog.tsx'
import { tell } from '../../components/toast.tsx'

interface DeleteFileProps {
  readonly file: FileInUse
  readonly onClose: () => void
}

export function DeleteFile({ file: { id, name }, onClose }: DeleteFileProps) {
  const navigate = useNavigate()
  const remove = async (options: ChangeOptions) => {
    await deleteFile(id, options)
    tell({ text: `${name} was deleted.` })
    void queryClient.invalidateQueries({ queryKey: fileKeys.lists })
    await navigate({ to: '/files' })
  }
  return (
    <ActDialog
      title={`Delete the file ${name}?`}
      size="md"
      onClose={onClose}
      effects={['No task uses it.', 'Its content cannot be restored.']}
      twin={{ method: 'DELETE', path: `/v1/files/${id}` }}
      command={`belfry file delete ${id}`}
      button="Delete"
      isHarmful
      act={remove}
    />
  )
}
