import { Link } from '@tanstack/react-router'
import type { StoredFile } from '../../api/wire.ts'
import { Instant } from '../../components/instant.tsx'
import { Table } from '../../components/table.tsx'
import { kindWords, sizeWords, stateWords } from './file-words.ts'

const COLUMNS = ['Name', 'State', 'Kind', 'Size', 'Created'] as const

export function FileTable({ files }: { readonly files: readonly StoredFile[] }) {
  return (
    <Table label="Files" columns={COLUMNS}>
      {files.map((file) => (
        <tr key={file.id}>
          <th scope="row">
            <Link to="/files/$fileId" params={{ fileId: file.id }}>
              {file.name}
            </Link>
          </th>
          <td>{stateWords(file)}</td>
          <td data-wide>{kindWords(file)}</td>
          <td data-label="size">{file.size === null ? '–' : sizeWords(file.size)}</td>
          <td data-label="created">
            <Instant at={file.createdAt} zone={null} />
          </td>
        </tr>
      ))}
    </Table>
  )
}
