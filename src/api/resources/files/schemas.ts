import { z } from 'zod'
import { fileNameProblem, MAX_FILE_NAME_CHARACTERS, SHA256 } from '../../../core/file/file.ts'
import { FILE_KINDS } from '../../../core/file/file-kind.ts'
import { MAX_USERS } from '../../../operations/tasks/task-users.ts'
import { Uuid } from '../../../operations/validation/values.ts'
import { Cursor, Limit } from '../../http/schemas/page.ts'

const Stored = z.string().meta({ format: 'date-time' })

const FileName = z
  .string()
  .superRefine((name, context) => {
    const message = fileNameProblem(name)
    if (message !== null) context.addIssue({ code: 'custom', message })
  })
  .meta({ example: 'backup.sh', minLength: 1, maxLength: MAX_FILE_NAME_CHARACTERS })

const Sha256 = z
  .string()
  .regex(SHA256, 'must be 64 lower-case hexadecimal digits')
  .meta({ example: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855' })

export const CreateFile = z
  .strictObject({
    name: FileName.describe('Name of the file, without directories.'),
    size: z.int().min(1).optional().describe('Size in bytes. An upload of another size is refused.'),
    sha256: Sha256.optional().describe(
      'SHA-256 of the content. An upload of other content is refused; if the project already has this content, nothing needs to be uploaded.',
    ),
  })
  .meta({ id: 'CreateFile' })

const fields = {
  id: Uuid,
  name: z.string(),
  state: z.enum(['waiting', 'ready']).describe('`waiting` until the upload is complete.'),
  size: z.int().nullable().describe('Size in bytes; until the file is ready, the announced size.'),
  sha256: z
    .string()
    .nullable()
    .describe('SHA-256 of the content; until the file is ready, the announced one.'),
  receivedBytes: z.int().describe('Bytes that are stored. An interrupted upload continues here.'),
  kind: z
    .enum(FILE_KINDS)
    .nullable()
    .describe('Type of the file, detected from its first bytes. Null until it is ready.'),
  architecture: z
    .string()
    .nullable()
    .describe('Processor architecture of a compiled program, such as `x64` or `arm64`.'),
  interpreter: z
    .string()
    .nullable()
    .describe('Interpreter of a script, or loader of a program that is linked dynamically.'),
  createdAt: Stored,
  readyAt: Stored.nullable(),
  uploadExpiresAt: Stored.nullable().describe(
    'When the upload address expires. Null for a file that was ready at once.',
  ),
}

export const File = z.object(fields).meta({ id: 'File' })
export type File = z.output<typeof File>

export const CreatedFile = z
  .object({
    ...fields,
    uploadUrl: z
      .string()
      .nullable()
      .describe('Address for `PUT`. It needs no API key. Null if the file is ready.')
      .meta({ format: 'uri' }),
  })
  .meta({ id: 'CreatedFile' })
export type CreatedFile = z.output<typeof CreatedFile>

export const FileInUse = z
  .object({
    ...fields,
    usedBy: z
      .array(z.object({ id: Uuid, name: z.string().nullable(), key: z.string().nullable() }))
      .describe(`Tasks that use the file and can still run, newest first; at most ${MAX_USERS}.`),
    hasMoreUsers: z.boolean().describe('More tasks may use the file than are listed.'),
  })
  .meta({ id: 'FileInUse' })
export type FileInUse = z.output<typeof FileInUse>

export const FileList = z
  .object({ items: z.array(File), nextCursor: z.string().nullable() })
  .meta({ id: 'FileList' })

export const ListFiles = z.strictObject({
  name: FileName.optional().describe('Only files with this name.'),
  sha256: Sha256.optional().describe('Only files with this content, or announced with it.'),
  state: z.enum(['waiting', 'ready']).optional(),
  limit: Limit,
  cursor: Cursor,
})

export const Signed = z.strictObject({
  token: z
    .string()
    .min(1)
    .max(2_000)
    .optional()
    .describe('Signature of the address, in place of an API key.'),
})

export const UploadHeaders = z.looseObject({
  'content-range': z
    .string()
    .max(100)
    .optional()
    .describe(
      'Which part of the file the body is, such as `bytes 0-262143/1000000`. Without it, the body is the whole file.',
    ),
})

export const DownloadHeaders = z.looseObject({
  range: z.string().max(100).optional().describe('Part of the file to return, such as `bytes=262144-`.'),
})
