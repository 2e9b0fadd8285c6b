/** Performs `exec`: finds the files that a program needs, and has it run. */
import type { ExecAction } from '../../core/action/action.ts'
import { fileIdsOf } from '../../core/action/action-files.ts'
import type { Outcome } from '../../core/run/outcome.ts'
import { failure } from '../../programs/program-outcome.ts'
import type { ProgramFile, ProgramRunner } from '../../programs/program-runner.ts'
import type { Queryable } from '../../store/database/database.ts'
import { type FileRow, findFilesByIds, noteFileUsed } from '../../store/files/files.ts'
import { readContent } from '../../store/files/read-content.ts'
import type { AttemptContext, Executor } from '../executor.ts'

export interface ExecExecutorOptions {
  readonly db: Queryable
  /** Null while this node cannot run programs. */
  runner(): Pick<ProgramRunner, 'run'> | null
}

export const createExecExecutor = ({ db, runner }: ExecExecutorOptions): Executor<ExecAction> => ({
  async execute(action, context) {
    const running = runner()
    if (running === null) return failure(true, 'sandbox_unavailable', 'This worker cannot run programs.')
    const files = await filesOf(db, action, context)
    return 'kind' in files ? files : running.run(action, files, attemptOf(context))
  },
})

const attemptOf = (context: AttemptContext) => ({
  runId: context.runId,
  taskId: context.taskId,
  attempt: context.attempt,
  fence: context.fence,
  scheduledFor: context.scheduledFor,
  tracingId: context.tracingId,
  traceparent: context.traceparent,
  log: context.log,
  redactor: context.log.redactor,
  signal: context.signal,
  isLost: () => context.isLost,
  // The attempt has its own limit.
  timeoutMs: null,
})

/** Returns every uploaded file that a program names, or the failure if one is not available. */
async function filesOf(
  db: Queryable,
  action: ExecAction,
  { projectId }: AttemptContext,
): Promise<ReadonlyMap<string, ProgramFile> | Outcome> {
  const ids = fileIdsOf(action)
  const found = new Map(
    ids.length === 0 ? [] : (await db.run(findFilesByIds(projectId, ids))).map((row) => [row.id, row]),
  )
  const files = new Map<string, ProgramFile>()
  for (const id of ids) {
    const row = found.get(id)
    if (row === undefined) return failure(false, 'file_missing', `The file ${id} does not exist.`)
    if (row.readyAt === null)
      return failure(true, 'file_missing', `The file ${row.name} has not been uploaded yet.`)
    files.set(id, programFile(db, row))
    await db.run(noteFileUsed(id))
  }
  return files
}

const EXECUTABLE: readonly string[] = ['elf', 'script']

function programFile(db: Queryable, row: FileRow): ProgramFile {
  const { name, sha256, size, contentId, kind, architecture } = row
  return {
    name,
    sha256: sha256 ?? '',
    size: size ?? 0,
    architecture,
    isExecutable: kind !== null && EXECUTABLE.includes(kind),
    read: () => readContent(db, contentId ?? '', { to: size ?? 0 }),
  }
}
