/** Files: programs and other bytes that tasks use. */
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { invalidInput, Refusal } from '../../../core/errors.ts'
import { CONTENT_RANGE_RULE, type ContentRange, parseContentRange } from '../../../core/file/content-range.ts'
import { isUuid } from '../../../core/ids.ts'
import { utc } from '../../../core/values/utc.ts'
import { DOWNLOAD, isStillFor, UPLOAD } from '../../../operations/files/addresses.ts'
import {
  createFile,
  findFile,
  getFile,
  readFiles,
  removeFile,
  stateOf,
} from '../../../operations/files/files.ts'
import { uploadFile } from '../../../operations/files/upload.ts'
import { Uuid } from '../../../operations/validation/values.ts'
import { type FileRow, noteFileUsed } from '../../../store/files/files.ts'
import { readContent } from '../../../store/files/read-content.ts'
import type { App } from '../../app.ts'
import { decodeCursor, pageOf } from '../../http/cursor.ts'
import { problems } from '../../http/schemas/problem-document.ts'
import { allowLongBody } from '../../http/slow-senders.ts'
import {
  CreatedFile,
  CreateFile,
  DownloadHeaders,
  File,
  FileInUse,
  FileList,
  ListFiles,
  Signed,
  UploadHeaders,
} from './schemas.ts'
import { Transfers } from './transfers.ts'

const tags = ['files']
const byId = z.object({ id: Uuid })
const BINARY = 'application/octet-stream'
const Bytes = z.any().meta({ type: 'string', format: 'binary' })

const create = {
  operationId: 'createFile',
  tags,
  summary: 'Create a file and get an address to upload it to',
  description:
    'If the project already has a file with the same `sha256`, the new file is ready at once and shares its content.',
  body: CreateFile,
  response: { 201: CreatedFile, ...problems(409, 413, 415) },
}

const upload = {
  operationId: 'uploadFile',
  tags,
  summary: 'Upload the content of a file, or a part of it',
  description:
    'The body is stored as it arrives. An interrupted upload continues with `Content-Range` at `receivedBytes` of the file; a part that begins elsewhere is refused with ' +
    '`upload_conflict`, which says where to continue. `Content-Range: bytes */TOTAL` without a body completes a file of which all bytes were received. ' +
    'An upload without `Content-Range` starts over. Every part but the last must have at least 262144 bytes. A file that is ready never changes.',
  params: byId,
  querystring: Signed,
  headers: UploadHeaders,
  consumes: [BINARY],
  body: Bytes,
  response: { 200: File, ...problems(404, 409, 413) },
}

const list = {
  operationId: 'listFiles',
  tags,
  summary: 'List files, newest first',
  querystring: ListFiles,
  response: { 200: FileList, ...problems() },
}

const read = {
  operationId: 'getFile',
  tags,
  summary: 'Read a file, how much of it was received, and which tasks use it',
  params: byId,
  response: { 200: FileInUse, ...problems(404) },
}

const download = {
  operationId: 'downloadFile',
  tags,
  summary: 'Download the content of a file',
  params: byId,
  querystring: Signed,
  headers: DownloadHeaders,
  response: {
    200: {
      description: 'The content.',
      content: { [BINARY]: { schema: Bytes } },
    },
    206: {
      description: 'The requested part.',
      content: { [BINARY]: { schema: Bytes } },
    },
    ...problems(404, 409),
  },
}

const remove = {
  operationId: 'deleteFile',
  tags,
  summary: 'Delete a file that no task uses',
  params: byId,
  response: { 204: z.null().describe('The file is deleted.'), ...problems(404, 409, 413, 415) },
}

export function fileRoutes(app: App, publicUrl: string | null): void {
  const transfers = new Transfers()
  // Before the server waits for requests to end, because transfers may take long.
  app.addHook('preClose', async () => transfers.close())

  app.post(
    '/v1/files',
    { schema: create, config: { access: 'edit', isOfQueue: true } },
    async (request, reply) => {
      const { file, uploadPath } = await createFile(request.context, request.body)
      reply.header('location', `/v1/files/${file.id}`)
      const uploadUrl = uploadPath === null ? null : `${publicUrl ?? ownUrl(request)}${uploadPath}`
      return reply.code(201).send({ ...present(file), uploadUrl })
    },
  )

  app.get('/v1/files', { schema: list, config: { access: 'read' } }, async ({ query, context }) => {
    const { name = null, sha256 = null, state = null, limit, cursor } = query
    const [before = null] = decodeCursor(cursor, isPosition) ?? []
    const rows = await readFiles(context, { name, sha256, state, before, limit: limit + 1 })
    return pageOf(rows, { limit, present, position: ({ id }) => [id] })
  })

  app.get('/v1/files/:id', { schema: read, config: { access: 'read' } }, async ({ params, context }) => {
    const { file, usedBy, hasMoreUsers } = await getFile(context, params.id)
    return { ...present(file), usedBy: [...usedBy], hasMoreUsers }
  })

  app.delete(
    '/v1/files/:id',
    { schema: remove, config: { access: 'edit' } },
    async ({ params, context }, reply) => {
      await removeFile(context, params.id)
      return reply.code(204).send(null)
    },
  )

  app.get(
    '/v1/files/:id/content',
    {
      schema: download,
      config: { access: 'edit', signedFor: DOWNLOAD, importance: 'change', lasting: 'transfer' },
      // A HEAD request would read the whole file.
      exposeHeadRoute: false,
    },
    async (request, reply) => sendContent(request, reply, transfers),
  )

  app.register(async (scope) => {
    // Bodies are accepted as they are, whatever their content type.
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', (_request, payload, done) => done(null, payload))
    ;(scope as App).put(
      '/v1/files/:id/content',
      { schema: upload, config: { access: 'edit', signedFor: UPLOAD, isOfQueue: true, lasting: 'transfer' } },
      async (request, reply) => {
        transfers.enter(reply, 'uploads', request.context.projectId)
        return present(await receive(request))
      },
    )
  })
}

/** Stores the body. After an error the rest of the body is read and discarded, so that the client receives the response. */
async function receive({ params, headers, raw, context }: FastifyRequest): Promise<FileRow> {
  const range = rangeOf(headers['content-range'])
  const length = headers['content-length']
  allowLongBody(raw)
  try {
    return await uploadFile(context, (params as { readonly id: string }).id, {
      body: raw.iterator({ destroyOnReturn: false }),
      bytes: length === undefined ? null : Number(length),
      range,
    })
  } catch (error) {
    if (raw.destroyed && !raw.complete)
      throw new Refusal('malformed_request', 'The connection closed before the whole body was received.')
    throw error
  } finally {
    raw.resume()
  }
}

function rangeOf(header: string | undefined): ContentRange | null {
  if (header === undefined) return null
  const range = parseContentRange(header)
  if (range) return range
  throw invalidInput([{ pointer: 'content-range', detail: CONTENT_RANGE_RULE }])
}

async function sendContent(
  { params, headers, signed, context }: FastifyRequest,
  reply: FastifyReply,
  transfers: Transfers,
): Promise<Readable> {
  const { db } = context
  if (signed && !(await isStillFor(db, signed)))
    throw new Refusal('invalid_signature', 'The address was signed for an attempt that has ended.')
  const file = await findFile(context, (params as { readonly id: string }).id)
  const { id, name, size, sha256, contentId } = file
  if (stateOf(file) === 'waiting' || contentId === null || size === null)
    throw new Refusal('file_waiting', `The upload of file ${id} is not complete.`)
  const stretch = stretchOf(headers.range, size)
  transfers.enter(reply, 'downloads', context.projectId)
  await db.run(noteFileUsed(id))
  reply.headers({
    'content-type': BINARY,
    'content-length': stretch.to - stretch.from,
    'content-disposition': `attachment; filename*=UTF-8''${encodeURIComponent(name)}`,
    'accept-ranges': 'bytes',
    etag: `"${sha256}"`,
  })
  if (headers.range !== undefined && stretch.to - stretch.from < size)
    reply.code(206).header('content-range', `bytes ${stretch.from}-${stretch.to - 1}/${size}`)
  return Readable.from(readContent(db, contentId, stretch), { objectMode: false, highWaterMark: 1 })
}

const RANGE = /^bytes=(\d{1,15})-(\d{0,15})$/

/** Returns the requested part. A range that is invalid or outside the file is ignored, as RFC 9110 allows. */
function stretchOf(header: string | undefined, size: number): { from: number; to: number } {
  const [, first = '', last = ''] = RANGE.exec(header ?? '') ?? []
  const from = first === '' ? 0 : Number(first)
  const to = last === '' ? size : Math.min(Number(last) + 1, size)
  return from < to ? { from, to } : { from: 0, to: size }
}

const ownUrl = ({ protocol, host }: FastifyRequest) => `${protocol}://${host}`

const isPosition = (value: unknown): value is readonly [id: string] =>
  Array.isArray(value) && value.length === 1 && typeof value[0] === 'string' && isUuid(value[0])

function present(file: FileRow): File {
  const { id, name, size, sha256, received, architecture, interpreter } = file
  return {
    id,
    name,
    state: stateOf(file),
    size,
    sha256,
    receivedBytes: received,
    kind: file.kind as File['kind'],
    architecture,
    interpreter,
    createdAt: utc(file.createdAt),
    readyAt: file.readyAt === null ? null : utc(file.readyAt),
    uploadExpiresAt: file.uploadExpiresAt === null ? null : utc(file.uploadExpiresAt),
  }
}
