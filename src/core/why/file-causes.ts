/** Why a task that uses files does not run. Pure. */
import { instant, type Why, type WhyFacts } from './why.ts'

/** The files of a task that have not been uploaded, and whether the task waits for them. */
export interface AwaitedFiles {
  readonly missing: readonly { readonly id: string; readonly name: string | null }[]
  /** Since when the task waits; null while a user has paused it. */
  readonly since: number | null
}

export function fileCauses(files: AwaitedFiles | null): Why[] {
  const [first] = files?.missing ?? []
  if (!files || !first) return []
  const named = first.name ?? first.id
  const others = files.missing.length === 1 ? '' : ` and ${files.missing.length - 1} more`
  const since: WhyFacts = files.since === null ? {} : { since: files.since }
  return [
    {
      code: 'file_missing',
      sentence:
        files.since === null
          ? `The task needs the file ${named}${others}, which has not been uploaded yet.`
          : `The task has been waiting since ${instant(files.since)} for the upload of the file ${named}${others}.`,
      facts: { ...since, files: files.missing.map(({ id }) => id) },
      advice: `Upload the file to the address that POST /v1/files returned. To see how much has arrived: belfry file show ${first.id}`,
    },
  ]
}
