/** Checks whether a local file is a program before it is uploaded, so that the user learns of a mistake before the first run. */
import { open } from 'node:fs/promises'
import { fileKindOf, LOOKED_AT_BYTES } from '../../core/file/file-kind.ts'
import { usage } from './flag-values.ts'

const KINDS: Readonly<Record<string, string>> = {
  'mach-o': 'a macOS program',
  pe: 'a Windows program',
  archive: 'an archive',
}

/** Ignores files that cannot be read: the upload reports the error. */
export async function refuseNoProgram(path: string): Promise<void> {
  const head = await headOf(path).catch(() => null)
  if (head === null || head.length === 0) return
  const { kind } = fileKindOf(head)
  const [line = ''] = head.toString('latin1').split('\n', 1)
  if (line.startsWith('#!') && line.endsWith('\r'))
    throw usage(
      `The first line of ${path} ends with a carriage return, so that its interpreter cannot be found.`,
      'Save the file with Unix line endings.',
    )
  if (kind !== 'elf' && kind !== 'script')
    throw usage(
      `${path} is ${KINDS[kind] ?? 'not a program'}.`,
      'Give a Linux program, or a script whose first line names its interpreter, such as #!/bin/sh.',
    )
}

async function headOf(path: string): Promise<Buffer> {
  const file = await open(path)
  try {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(LOOKED_AT_BYTES), 0, LOOKED_AT_BYTES, 0)
    return buffer.subarray(0, bytesRead)
  } finally {
    await file.close()
  }
}
