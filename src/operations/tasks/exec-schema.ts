/** The schema of the action `exec` in requests. The files that it names are checked against the project when the task is stored. */
import { z } from 'zod'
import { MASK } from '../../core/action/secret-rule.ts'
import { hasReference } from '../../core/secret/secret-reference.ts'
import { parseBytes } from '../../core/values/bytes.ts'
import { Uuid } from '../validation/values.ts'

const MAX_STDIN_CHARACTERS = 256 * 1024
const MAX_ARGS = 200
const MAX_VARIABLES = 100
/** Arguments and environment together. Linux takes 128 KiB for one of them, and a few MiB for all. */
const MAX_ARGS_AND_ENV_BYTES = 128 * 1024
const MAX_FILES = 50
const MAX_CONTENT_CHARACTERS = 64 * 1024
const MAX_PATH_CHARACTERS = 250
const MAX_SEGMENT_BYTES = 200
const KIB = 1024
const GIB = 1024 ** 3

// biome-ignore lint/suspicious/noControlCharactersInRegex: this is what is refused
const NUL = /\x00/
const withoutNul = (text: string) => !NUL.test(text)
const NUL_RULE = 'must not contain NUL characters'

const Arg = z
  .string()
  .max(MAX_ARGS_AND_ENV_BYTES)
  .refine(withoutNul, NUL_RULE)
  .refine(
    (text) => !hasReference(text),
    'must not refer to a secret, because other users can see the arguments of a process; use env or stdin',
  )

const isReserved = (name: string) => /^BELFRY_/i.test(name) || name === 'TRACEPARENT'

const VariableName = z
  .string()
  .regex(
    /^[A-Za-z_][A-Za-z0-9_]{0,99}$/,
    'must be 1 to 100 letters, digits or underscores, and must not start with a digit',
  )
  .refine((name) => !isReserved(name), 'is set by Belfry and cannot be overridden')

const VariableValue = z
  .string()
  .max(32 * KIB)
  .refine(withoutNul, NUL_RULE)
  .refine(
    (text) => text === MASK || !text.includes(MASK),
    `must not contain ${MASK}, the mask of a stored secret`,
  )
  .describe('Responses show •••••• in place of a secret. Sending it back in an edit keeps the stored value.')

const Env = z
  .record(VariableName, VariableValue)
  .refine(
    (env) => Object.keys(env).length <= MAX_VARIABLES,
    `must not contain more than ${MAX_VARIABLES} variables`,
  )

const Stdin = z
  .unknown()
  .refine(
    (stdin) => JSON.stringify(stdin).length <= MAX_STDIN_CHARACTERS,
    `must not be larger than ${MAX_STDIN_CHARACTERS} characters as JSON`,
  )
  .describe('Any JSON value. A string is passed unchanged, everything else as JSON.')

/** Returns what is wrong with the path of a file in the work directory, or null. */
function pathProblem(path: string): string | null {
  if (path.startsWith('/')) return 'must be relative to the work directory, such as data/input.csv'
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is refused
  if (/[\x00-\x1f\x7f]/.test(path)) return 'must not contain control characters'
  for (const segment of path.split('/')) {
    if (segment === '') return 'must not be empty or contain empty segments'
    if (segment === '.' || segment === '..') return 'must not contain . or .. as a segment'
    if (Buffer.byteLength(segment) > MAX_SEGMENT_BYTES)
      return `must not contain names longer than ${MAX_SEGMENT_BYTES} bytes`
  }
  return null
}

const WorkPath = z
  .string()
  .max(MAX_PATH_CHARACTERS)
  .superRefine((path, context) => {
    const message = pathProblem(path)
    if (message !== null) context.addIssue({ code: 'custom', message })
  })
  .meta({ example: 'data/input.csv' })

const WorkFile = z
  .strictObject({
    path: WorkPath.describe('Path of the file, relative to the work directory of the program.'),
    file: Uuid.optional().describe('Id of an uploaded file.'),
    content: z
      .string()
      .max(MAX_CONTENT_CHARACTERS)
      .optional()
      .describe('Content of the file as text, instead of an uploaded file.'),
  })
  .refine(({ file, content }) => (file === undefined) !== (content === undefined), {
    path: ['file'],
    message: 'is required unless content is given; only one of them can be given',
  })

type Paths = readonly { readonly path: string }[]

/** Finds a path that occurs twice, or that is the directory of another. */
function clashOf(files: Paths): { readonly index: number; readonly message: string } | null {
  const seen = new Set<string>()
  for (const [index, { path }] of files.entries()) {
    if (seen.has(path)) return { index, message: `is ${path}, which is already the path of another file` }
    seen.add(path)
  }
  for (const [index, { path }] of files.entries()) {
    const segments = path.split('/')
    const parent = segments.map((_, n) => segments.slice(0, n).join('/')).find((above) => seen.has(above))
    if (parent !== undefined) return { index, message: `needs the directory ${parent}, which is a file` }
  }
  return null
}

const WorkFiles = z
  .array(WorkFile)
  .max(MAX_FILES)
  .superRefine((files, context) => {
    const clash = clashOf(files)
    if (clash !== null)
      context.addIssue({ code: 'custom', path: [clash.index, 'path'], message: clash.message })
  })

const sizeBetween = (min: number, max: number, range: string) =>
  z
    .string()
    .superRefine((text, context) => {
      const parsed = parseBytes(text)
      if (!parsed.ok) context.addIssue({ code: 'custom', message: parsed.reason })
      else if (parsed.bytes < min || parsed.bytes > max)
        context.addIssue({ code: 'custom', message: `must be ${range}` })
    })
    .meta({ example: '256MiB' })

const Limits = z
  .strictObject({
    memory: sizeBetween(4 * 1024 * KIB, 1024 * GIB, 'from 4MiB to 1TiB')
      .optional()
      .describe('Memory of all its processes together.'),
    cpus: z.number().min(0.01).max(1_024).optional().describe('Processor time per second, in processors.'),
    processes: z.int().min(1).max(100_000).optional().describe('Processes and threads at once.'),
    fileSize: sizeBetween(4 * KIB, 1024 * GIB, 'from 4KiB to 1TiB')
      .optional()
      .describe('Maximum size of a file that it writes, and of its work directory in total.'),
  })
  .describe('Limits of the program. The worker has defaults and maximum values for each.')

const ExitCode = z.int().min(0).max(255)
const ExitCodeList = z.array(ExitCode).min(1).max(256)
const OUTCOMES = ['complete', 'retry', 'fail'] as const

const ExitCodes = z
  .strictObject({
    complete: ExitCodeList.optional().describe('These exit codes complete the run.'),
    retry: ExitCodeList.optional().describe('These fail the attempt, and the run is retried.'),
    fail: ExitCodeList.optional().describe('These fail the run without a retry.'),
  })
  .superRefine((codes, context) => {
    const seen = new Map<number, string>()
    for (const outcome of OUTCOMES)
      for (const [index, code] of (codes[outcome] ?? []).entries()) {
        const other = seen.get(code)
        if (other !== undefined)
          context.addIssue({
            code: 'custom',
            path: [outcome, index],
            message: `is ${code}, which is already in ${other}`,
          })
        seen.set(code, outcome)
      }
  })
  .describe('Meaning of exit codes. Unlisted codes: 0 completes the run, all others are retried.')

/** The path of a program on a worker's machine. */
export const Command = z
  .string()
  .max(1_000)
  .refine((path) => path.startsWith('/'), 'must be an absolute path, such as /usr/bin/rsync')
  .refine(
    (path) => path.startsWith('/') === false || pathProblem(path.slice(1)) === null,
    'must be a plain path, without control characters, empty segments, . or ..',
  )
  .meta({ example: '/usr/bin/rsync' })

export const ExecAction = z
  .strictObject({
    type: z.literal('exec'),
    file: Uuid.optional().describe('Id of the uploaded program.'),
    command: Command.optional().describe(
      'Path of a program on the worker. The worker runs it only if its operator allows it.',
    ),
    args: z.array(Arg).max(MAX_ARGS).optional(),
    env: Env.optional().describe('Environment variables, besides those that Belfry sets.'),
    stdin: Stdin.optional(),
    files: WorkFiles.optional().describe('Files in the work directory of the program.'),
    network: z.boolean().optional().describe('Whether the program may use the network. Default false.'),
    limits: Limits.optional(),
    exitCodes: ExitCodes.optional(),
  })
  .refine(({ file, command }) => (file === undefined) !== (command === undefined), {
    path: ['file'],
    message: 'is required unless command is given; only one of them can be given',
  })
  .superRefine(({ args = [], env = {} }, context) => {
    const bytes = (texts: readonly string[]) =>
      texts.reduce((sum, text) => sum + Buffer.byteLength(text) + 1, 0)
    if (bytes(args) + bytes(Object.entries(env).flat()) <= MAX_ARGS_AND_ENV_BYTES) return
    context.addIssue({
      code: 'custom',
      path: [args.length > 0 ? 'args' : 'env'],
      message: `must not be larger than ${MAX_ARGS_AND_ENV_BYTES} bytes, args and env together`,
    })
  })
  .describe('Runs a program in a sandbox on a worker.')
  .meta({ id: 'ExecAction' })
