/** Guides that start servers of their own, followed to the letter. */
import { join } from 'node:path'
import { onTestFinished, test } from 'vitest'
import { read } from '../project/tree.ts'
import { makeDatabase } from '../support/database.ts'
import { aDirectory } from '../support/process.ts'
import { follow } from './reader.ts'

test('the guide to a first task works as it stands on the page', { retry: 0 }, async () => {
  const home = aDirectory()
  const dataDir = join(home, 'data')

  await follow(read('docs/guides/first-task-in-five-minutes.md'), {
    home,
    env: { BELFRY_DATA_DIR: dataDir, BELFRY_LOG_LEVEL: 'warn' },
    portVariable: 'BELFRY_PORT',
    instead: { '~/.local/share/belfry': dataDir, "<the repository's address>": 'here' },
  })
})

test('the guide to a cluster works as it stands on the page', { retry: 0 }, async () => {
  const { url, drop } = await makeDatabase({ empty: true })
  onTestFinished(drop)

  await follow(read('docs/guides/a-cluster-on-postgresql.md'), {
    home: aDirectory(),
    env: { BELFRY_LOG_LEVEL: 'error' },
    instead: { 'postgresql://belfry:secret@db.example.com:5432/belfry': url },
  })
})
