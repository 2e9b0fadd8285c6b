/** Commands as people paste them: run by a real shell that finds `belfry` on its path. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const BIN = fileURLToPath(new URL('../../bin/belfry.cjs', import.meta.url))

export async function inShell(command: string): Promise<{ stdout: string; stderr: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'belfry-shell-'))
  symlinkSync(BIN, join(folder, 'belfry'))
  try {
    const PATH = `${folder}${delimiter}${process.env['PATH']}`
    return await promisify(execFile)('/bin/sh', ['-c', command], { env: { PATH, HOME: '/' } })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
