/** Why no scheduler fires the task. Pure. */
import { roughly } from '../words/time.ts'
import type { NowCase } from './now-case.ts'
import type { Why } from './why.ts'

export function watcherCauses({ watcher, now }: NowCase): Why[] {
  if (watcher.isWatched) return []
  return [
    {
      code: 'shard_unwatched',
      sentence: `No scheduler has watched shard ${watcher.shard}, which contains the task, for ${roughly(now - watcher.watchedUntil)}.`,
      facts: { shard: watcher.shard, since: watcher.watchedUntil },
      advice:
        'Start a node with the role scheduler: belfry start --roles scheduler. It fires due runs as soon as it starts.',
    },
  ]
}
