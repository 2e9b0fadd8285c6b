import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { scratchFolder } from '../../test/support/scratch-folder.ts'
import { findCommands, isAllowed } from './allowed-commands.ts'

test.each([
  [['/usr/bin/rsync'], '/usr/bin/rsync', true],
  [['/usr/bin/rsync'], '/usr/bin/rsync2', false],
  [['/opt/backup/*'], '/opt/backup/run.sh', true],
  [['/opt/backup/*'], '/opt/backup/deeper/run.sh', false],
  [['/opt/backup/*'], '/opt/backup/.hidden', false],
  [['/opt/backup/*.sh'], '/opt/backup/run.sh', true],
  [['/opt/backup/*.sh'], '/opt/backup/runxsh', false],
  [['/opt/back*up/x'], '/opt/backup/x', false],
  [[], '/bin/sh', false],
] as const)('with %j allowed, %s is allowed: %s', (allowed, path, expected) => {
  expect(isAllowed(allowed, path)).toBe(expected)
})

test('installed executable commands are found', async () => {
  const folder = await scratchFolder()
  await mkdir(join(folder, 'folder'))
  for (const name of ['b.sh', 'a.sh', 'notes.txt']) await writeFile(join(folder, name), '')
  await chmod(join(folder, 'a.sh'), 0o755)
  await chmod(join(folder, 'b.sh'), 0o755)
  await symlink('/nowhere', join(folder, 'broken.sh'))

  const found = await findCommands([join(folder, '*'), '/bin/sh', '/no/such/command', '/no/such/folder/*'])

  expect(found).toEqual(['/bin/sh', join(folder, 'a.sh'), join(folder, 'b.sh')].sort())
})
