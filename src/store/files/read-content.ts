/** Reads the bytes of files chunk by chunk: however long a file is, only one chunk of it is in memory. */
import type { Queryable } from '../database/database.ts'
import { readChunk } from './contents.ts'

/** The content was deleted while it was being read. */
export class ContentGone extends Error {
  override readonly name = 'ContentGone'
}

/** The range to read; `to` is exclusive. */
export interface Stretch {
  readonly from?: number
  readonly to: number
}

/** Yields the bytes of a range, which must lie within the content. */
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
