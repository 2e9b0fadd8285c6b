import { readFileSync } from 'node:fs'
import { ConfigError } from './config-error.ts'

/** A secret that a container finds in a file, without the line end that editors put there. */
export function readSecretFile(variable: string, path: string): string {
  try {
    return readFileSync(path, 'utf8').replace(/\r?\n$/, '')
  } catch (error) {
    throw new ConfigError(
      `Cannot read the file '${path}' that ${variable} names: ${(error as Error).message}.`,
    )
  }
}
