/** Finds a file by its id, the beginning of its id, or its name if only one file has it. */
import type { File, FileInUse } from '../../api/resources/files/schemas.ts'
import { fileNameProblem } from '../../core/file/file.ts'
import { isUuid } from '../../core/ids.ts'
import { printable } from '../../core/values/printable.ts'
import { CliError, EXIT } from '../exit.ts'
import { idOfPrefix } from './id-prefix.ts'
import { queryOf, type Server } from './server.ts'

/** Maximum number of files with the same name that an error message lists. */
const MAX_NAMED = 10

export async function findFile(server: Server, ref: string): Promise<FileInUse> {
  const read = (id: string) => server.get<FileInUse>(`/v1/files/${id}`)
  if (isUuid(ref)) return read(ref)
  const [named, other, ...more] = fileNameProblem(ref) === null ? await filesNamed(server, ref) : []
  if (named && other) throw ambiguous(ref, [named, other, ...more])
  const id = named?.id ?? (await idOfPrefix(server, 'file', ref))
  if (id !== null) return read(id)
  throw new CliError(
    `No file has the id or name '${printable(ref)}'.`,
    'To list files: belfry file list',
    EXIT.notFound,
  )
}

const filesNamed = async (server: Server, name: string): Promise<readonly File[]> =>
  (await server.get<{ items: readonly File[] }>(`/v1/files${queryOf({ name, limit: MAX_NAMED })}`)).items

function ambiguous(name: string, files: readonly File[]): CliError {
  return new CliError(
    `${files.length === MAX_NAMED ? 'Several' : files.length} files have the name '${printable(name)}'.`,
    'Use the id instead.',
    EXIT.conflict,
    { why: files.map(({ id, state, createdAt }) => `${id}  ${state}, created ${createdAt}`) },
  )
}
