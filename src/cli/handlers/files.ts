import { existsSync } from 'node:fs'
import type { File } from '../../api/resources/files/schemas.ts'
import { printable } from '../../core/values/printable.ts'
import { sizeWords } from '../../core/words/size.ts'
import { formatDistance } from '../../core/words/time.ts'
import { confirm } from '../client/confirm.ts'
import { downloadInto, downloadTo } from '../client/download-file.ts'
import { contentWords, kindWords } from '../client/file-words.ts'
import { findFile } from '../client/find-file.ts'
import { type ClientFlags, give, remark, serverFrom } from '../client/output.ts'
import { readLimit, readPages, remarkMore } from '../client/pages.ts'
import { cut, facts, table } from '../client/printed.ts'
import { namingAll } from '../client/refusal.ts'
import { uploadLocalFile } from '../client/upload-file.ts'
import { CliError, EXIT } from '../exit.ts'
import { onStdout as c } from '../terminal.ts'

const NAME_WIDTH = 40

export async function uploadFile(
  path: string,
  flags: ClientFlags & { readonly name?: string },
): Promise<void> {
  const { file, sentBytes } = await uploadLocalFile(serverFrom(flags), path, { name: flags.name })
  give(file, flags, () => {
    const how = sentBytes === 0 ? '; the project already has this content, so nothing was uploaded' : ''
    return `${c.green('✓')} file ${printable(file.name)} is ready: ${contentWords(file)}${how}\n  id  ${file.id}\n`
  })
}

interface ListFlags extends ClientFlags {
  readonly name?: string
  readonly state?: string
  readonly limit: string
}

export async function listFiles(flags: ListFlags): Promise<void> {
  const server = serverFrom(flags)
  const { name, state } = flags
  const limit = readLimit(flags.limit)
  const listed = await namingAll('belfry file list --help', () =>
    readPages<File>(server, '/v1/files', { name, state }, limit),
  )
  if (listed.items.length === 0 && !flags.json)
    return remark(
      name === undefined && state === undefined
        ? 'There are no files.\ntry:   belfry file upload backup.sh\n'
        : 'No file matches these filters.\n',
    )
  const now = server.now()
  give(listed.items, flags, () =>
    table(
      ['NAME', 'STATE', 'SIZE', 'KIND', 'CREATED', 'ID'],
      listed.items.map((file) => [
        cut(printable(file.name), NAME_WIDTH),
        file.state,
        file.size === null ? '–' : sizeWords(file.size),
        kindWords(file) || '–',
        formatDistance(Date.parse(file.createdAt), now),
        file.id,
      ]),
    ),
  )
  remarkMore(listed)
}

export async function showFile(ref: string, flags: ClientFlags): Promise<void> {
  const server = serverFrom(flags)
  const file = await findFile(server, ref)
  const now = server.now()
  give(file, flags, () => {
    const users = file.usedBy.map((task) => `${task.id}  ${printable(task.name ?? task.key ?? '')}`.trimEnd())
    const more = file.hasMoreUsers ? ['and possibly others'] : []
    return facts([
      ['name', printable(file.name)],
      ['id', file.id],
      ['state', stateWords(file)],
      ['content', contentWords(file)],
      ['sha256', file.sha256 ?? 'not known yet'],
      ...(file.interpreter === null ? [] : [['interpreter', printable(file.interpreter)] as const]),
      ['created', formatDistance(Date.parse(file.createdAt), now)],
      ['used by', [...users, ...more].join('\n') || 'no task'],
    ])
  })
}

export async function deleteFile(
  ref: string,
  flags: ClientFlags & { readonly yes?: boolean },
): Promise<void> {
  const server = serverFrom(flags)
  const file = await findFile(server, ref)
  await confirm(`Delete the file ${printable(file.name)} (${file.id})? It cannot be restored.`, flags)
  await server.ask('DELETE', `/v1/files/${file.id}`)
  give(file, flags, () => `${c.green('✓')} file ${printable(file.name)} deleted\n`)
}

export async function downloadFile(
  ref: string,
  flags: ClientFlags & { readonly output?: string; readonly force?: boolean },
): Promise<void> {
  const server = serverFrom(flags)
  const file = await findFile(server, ref)
  if (file.state === 'waiting')
    throw new CliError(
      `The upload of ${printable(file.name)} is not complete: ${stateWords(file)}.`,
      `To see its progress: belfry file show ${file.id}`,
      EXIT.conflict,
    )
  const path = flags.output ?? file.name
  if (path === '-') return downloadInto(server, file, process.stdout)
  if (existsSync(path) && !flags.force)
    throw new CliError(
      `${path} exists.`,
      'To replace it: --force. To write elsewhere: --output PATH',
      EXIT.conflict,
    )
  await downloadTo(server, file, path)
  give(file, flags, () => `${c.green('✓')} ${printable(path)}: ${contentWords(file)}\n`)
}

const stateWords = ({ state, receivedBytes, size }: File) =>
  state === 'ready'
    ? 'ready'
    : `waiting; ${sizeWords(receivedBytes)}${size === null ? '' : ` of ${sizeWords(size)}`} received`
