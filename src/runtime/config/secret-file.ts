import { readFileSync } from 'node:fs'
import { ConfigError } from './config-error.ts'

/** Reads a secret from a file, as containers provide it, without the final line break that editors add. */
export function readSecretFile(variable: string, path: string): string {
  try {
    return readFileSync(path, 'utf8').replace(/\r?\n$/, '')
  } catch (error) {
    throw new ConfigError(
      `Cannot read the file '${path}' that ${variable} names: ${(error as Error).message}.`,
    )
  }
}
