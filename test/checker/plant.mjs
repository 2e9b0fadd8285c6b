/**
 * Loaded into the program with --import, before it: changes statements on their way to the database, as
 * PLANTED_BUG says. The program itself knows nothing of it. Says on stderr what it has changed, so
 * that a bug which no longer finds its statement is noticed.
 */
import pg from 'pg'

/**
 * @typedef {object} Edit
 * @property {string[]} where what the statement's text must match
 * @property {string[]} [unless] and what it must not
 * @property {[pattern: string, by: string][]} [change] what is replaced in it, all of which must be there
 * @property {string} [followedBy] a statement to run after it
 * @property {number} [delayMs] how long it is held back
 * @property {boolean} [once] only the first time
 */

/** @type {{ name: string, edits: Edit[] }} */
const bug = JSON.parse(process.env['PLANTED_BUG'] ?? '{"name":"none","edits":[]}')
const used = new Set()
const said = new Set()

function say(/** @type {Record<string, unknown>} */ about) {
  const line = JSON.stringify({ ...about, bug: bug.name })
  if (said.has(line)) return
  said.add(line)
  process.stderr.write(`${line}\n`)
}

function editFor(/** @type {string} */ text) {
  return bug.edits.find(
    (edit) =>
      !(edit.once && used.has(edit)) &&
      edit.where.every((pattern) => new RegExp(pattern, 'i').test(text)) &&
      !(edit.unless ?? []).some((pattern) => new RegExp(pattern, 'i').test(text)),
  )
}

function changed(/** @type {string} */ text, /** @type {Edit} */ edit) {
  let result = text
  for (const [pattern, by] of edit.change ?? []) {
    const after = result.replace(new RegExp(pattern, 'gi'), by)
    if (after === result) say({ msg: 'not planted', edit: bug.edits.indexOf(edit), missing: pattern })
    result = after
  }
  if (result !== text || !edit.change) say({ msg: 'planted', edit: bug.edits.indexOf(edit) })
  return result
}

const query = pg.Client.prototype.query

pg.Client.prototype.query = function (/** @type {unknown[]} */ ...args) {
  const callback = typeof args.at(-1) === 'function' ? args.at(-1) : undefined
  // A statement comes as its text with its values behind it, or as one object with both.
  const [first, second] = args
  const whole = typeof first === 'string' ? { text: first, values: second } : first
  const edit = typeof whole?.text === 'string' && !whole.submit ? editFor(whole.text) : undefined
  if (!edit) return query.apply(this, args)
  used.add(edit)
  const text = changed(whole.text, edit)
  const values = Array.isArray(whole.values) ? [whole.values] : []
  const run = async () => {
    if (edit.delayMs) await new Promise((resolve) => setTimeout(resolve, edit.delayMs))
    const result = await query.call(this, text, ...values)
    if (edit.followedBy) await query.call(this, edit.followedBy)
    return result
  }
  const result = run()
  if (!callback) return result
  result.then(
    (value) => callback(null, value),
    (error) => callback(error),
  )
  return undefined
}
