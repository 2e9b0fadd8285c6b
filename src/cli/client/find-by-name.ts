import { printable } from '../../core/values/printable.ts'
import { CliError, EXIT } from '../exit.ts'
import { isIdPrefix } from './id-prefix.ts'

/** An object that users refer to by its id, by the beginning of its id, or by a name that need not be unique. */
interface Named {
  readonly id: string
  readonly name?: string | null
}

/** The item with this id or name. If several match, `words` distinguishes them. */
export function findByName<Item extends Named>(
  noun: 'blackout' | 'subscription' | 'signing-secret' | 'key',
  ref: string,
  items: readonly Item[],
  words: (item: Item) => string,
): Item {
  const found = meantBy(ref, items)
  const [first, other] = found
  const kind = noun.replace('-', ' ')
  if (first === undefined)
    throw new CliError(
      `No ${kind} has the id or name '${printable(ref)}'.`,
      `To list them: belfry ${noun} list`,
      EXIT.notFound,
    )
  if (other !== undefined)
    throw new CliError(
      `${found.length} ${kind}s ${first.name === ref ? 'have the name' : 'have an id that starts with'} '${printable(ref)}'.`,
      'Use the id instead.',
      EXIT.conflict,
      { why: found.map((item) => `${item.id}  ${words(item)}`) },
    )
  return first
}

/** A name takes precedence over the first characters of an id. */
function meantBy<Item extends Named>(ref: string, items: readonly Item[]): readonly Item[] {
  const id = ref.toLowerCase()
  const called = items.filter((item) => item.id === id || item.name === ref)
  if (called.length > 0 || !isIdPrefix(ref)) return called
  return items.filter((item) => item.id.startsWith(id))
}
