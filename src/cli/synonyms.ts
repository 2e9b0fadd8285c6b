/**
 * Words that other programs use for these commands. A word spelled like a command can mean its opposite (`unpause` and
 * `pause`), so the meaning takes precedence over similar spelling.
 */
const MEANINGS: Readonly<Record<string, readonly string[]>> = {
  abort: ['cancel'],
  add: ['create', 'add'],
  change: ['edit', 'limit'],
  continue: ['resume'],
  describe: ['show'],
  destroy: ['delete', 'remove', 'revoke'],
  disable: ['pause', 'revoke'],
  enable: ['resume'],
  execute: ['run'],
  explain: ['why'],
  get: ['show', 'list'],
  history: ['versions', 'list'],
  info: ['show'],
  inspect: ['show'],
  kill: ['cancel'],
  new: ['create', 'add'],
  next: ['preview'],
  purge: ['dismiss', 'delete'],
  remove: ['delete', 'remove', 'revoke'],
  delete: ['remove', 'revoke', 'cancel'],
  replay: ['redrive', 'retry', 'backfill'],
  rerun: ['retry', 'redrive'],
  restart: ['retry', 'resume'],
  revert: ['rollback'],
  revoke: ['remove', 'delete'],
  roll: ['rotate'],
  set: ['edit', 'limit'],
  skip: ['skip-next'],
  status: ['show', 'list'],
  stop: ['pause', 'cancel'],
  suspend: ['pause'],
  undo: ['rollback'],
  unpause: ['resume'],
  update: ['edit', 'limit'],
  view: ['show'],
}

/** Returns the first of these commands that the word is a synonym of. */
export function meaningOf(word: string, commands: readonly string[]): string | undefined {
  const meanings = Object.hasOwn(MEANINGS, word) ? (MEANINGS[word] ?? []) : []
  return meanings.find((meaning) => commands.includes(meaning))
}
