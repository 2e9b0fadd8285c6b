/** Reads files named by flags, whole and up to a maximum size; `-` is standard input. */
import { createReadStream } from 'node:fs'
import { CliError, EXIT } from '../exit.ts'
import { parseJson, usage } from './flag-values.ts'

/** More than the server accepts for any request of this kind. */
const MAX_BYTES = 4 * 1024 * 1024

export async function readText(path: string): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of path === '-' ? process.stdin : createReadStream(path)) {
      chunks.push(chunk as Buffer)
      size += (chunk as Buffer).length
      if (size > MAX_BYTES) throw usage(`${path} is larger than ${MAX_BYTES / 1024 / 1024} MiB.`)
    }
  } catch (error) {
    if (error instanceof CliError) throw error
    throw new CliError(
      `Cannot read ${path}: ${(error as Error).message}.`,
      'Give the path of a file, or - for standard input.',
      EXIT.usage,
    )
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** Returns the task in the file of `--file`; an empty object if the flag is not given. */
export async function readFileFlag(path: unknown): Promise<Record<string, unknown>> {
  if (path === undefined) return {}
  const text = await readText(String(path))
  try {
    const value = parseJson(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return value as Record<string, unknown>
  } catch (error) {
    if (error instanceof CliError) throw error
    throw usage(`${path} is not valid JSON: ${(error as Error).message}.`)
  }
  throw usage(`${path} must contain a task as a JSON object.`)
}
