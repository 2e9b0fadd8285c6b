/** One file: its properties and the tasks that use it. */
import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import { downloadFile, fileQuery } from '../../api/files.ts'
import type { FileInUse } from '../../api/wire.ts'
import { Fact, Facts } from '../../components/facts.tsx'
import { Icon } from '../../components/icon.tsx'
import { Instant } from '../../components/instant.tsx'
import { Nothing } from '../../components/nothing.tsx'
import { Bones, Panel } from '../../components/panel.tsx'
import { Screen } from '../../components/screen.tsx'
import { Table } from '../../components/table.tsx'
import { tellFailure } from '../../components/toast.tsx'
import { Unread } from '../../components/unread.tsx'
import { DeleteFile } from './delete-file.tsx'
import { kindWords, sizeWords, stateWords } from './file-words.ts'

const route = getRouteApi('/files/$fileId')

export function FileScreen() {
  const { fileId } = route.useParams()
  const { data: file, error, refetch } = useQuery(fileQuery(fileId))
  if (error && !file) return <Unread what="file" id={fileId} error={error} onRetry={() => void refetch()} />
  if (!file) return <Bones count={4} />
  return (
    <Screen title={file.name} aside={<Acts file={file} />}>
      <FileFacts file={file} />
      <Panel title="Tasks that use this file" flush>
        <Users file={file} />
      </Panel>
    </Screen>
  )
}

function FileFacts({ file }: { readonly file: FileInUse }) {
  return (
    <Facts>
      <Fact label="State">{stateWords(file)}</Fact>
      <Fact label="Kind">{kindWords(file)}</Fact>
      <Fact label="Size">{file.size === null ? '–' : sizeWords(file.size)}</Fact>
      <Fact label="Created">
        <Instant at={file.createdAt} zone={null} />
      </Fact>
      {file.sha256 !== null && (
        <Fact label="SHA-256" isWide>
          <code>{file.sha256}</code>
        </Fact>
      )}
      <Fact label="ID" isWide>
        <code>{file.id}</code>
      </Fact>
    </Facts>
  )
}

function Users({ file: { usedBy, hasMoreUsers } }: { readonly file: FileInUse }) {
  if (usedBy.length === 0)
    return <Nothing words={hasMoreUsers ? 'Tasks may use this file.' : 'No task uses this file.'} />
  return (
    <>
      <Table label="Tasks that use this file" columns={['Task']}>
        {usedBy.map(({ id, name, key }) => (
          <tr key={id}>
            <th scope="row">
              <Link to="/tasks/$taskId" params={{ taskId: id }}>
                {name ?? key ?? id}
              </Link>
            </th>
          </tr>
        ))}
      </Table>
      {hasMoreUsers && <Nothing words="More tasks may use this file." />}
    </>
  )
}

function Acts({ file }: { readonly file: FileInUse }) {
  const [isAsking, setAsking] = useState(false)
  return (
    <>
      {file.state === 'ready' && (
        <Button
          renderRoot={(props) => <Link to="/tasks/new" search={{ file: file.id }} {...props} />}
          leftSection={<Icon name="plus" size={16} />}
        >
          New task with this file
        </Button>
      )}
      {file.state === 'ready' && (
        <Button
          variant="default"
          leftSection={<Icon name="down" size={16} />}
          onClick={() => void downloadFile(file).catch(tellFailure)}
        >
          Download
        </Button>
      )}
      <Button
        variant="default"
        disabled={file.usedBy.length > 0}
        title={file.usedBy.length > 0 ? 'Tasks use this file' : undefined}
        leftSection={<Icon name="trash" size={16} />}
        onClick={() => setAsking(true)}
      >
        Delete…
      </Button>
      {isAsking && <DeleteFile file={file} onClose={() => setAsking(false)} />}
    </>
  )
}
