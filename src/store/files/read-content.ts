/** The bytes of files, read chunk by chunk: however long a file is, only one chunk of it is in memory. */
import type { Queryable } from '../database/database.ts'
import { readChunk } from './contents.ts'

/** Content that is being read was removed. */
export class ContentGone extends Error {
  override readonly name = 'ContentGone'
}

/** Where to begin and end; `to` is the first position that is not read. */
export interface Stretch {
  readonly from?: number
  readonly to: number
}

/** The bytes of a stretch. The content must be that long. */
export async function* readContent(
  db: Queryable,
  contentId: string,
  { from = 0, to }: Stretch,
): AsyncGenerator<Buffer, void, undefined> {
  for (let position = from; position < to; ) {
    const [chunk] = await db.run(readChunk(contentId, position))
    const bytes = chunk?.bytes.subarray(0, to - position)
    if (!bytes?.length) throw new ContentGone(`content ${contentId} ends at ${position}`)
    yield bytes
    position += bytes.length
  }
}
