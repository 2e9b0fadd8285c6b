import { CliError, EXIT } from '../exit.ts'
import { printable } from './printed.ts'

/** Something that people call by its id, or by a name that others may have too. */
interface Named {
  readonly id: string
  readonly name: string | null
}

/** What somebody means among all there are. Where several have the name, `words` tell them apart. */
export function theOneNamed<Item extends Named>(
  noun: 'blackout' | 'subscription',
  ref: string,
  items: readonly Item[],
  words: (item: Item) => string,
): Item {
  const found = items.filter(({ id, name }) => id === ref.toLowerCase() || name === ref)
  const [first, other] = found
  if (first === undefined)
    throw new CliError(
      `There is no ${noun} with the id or name '${printable(ref)}'.`,
      `belfry ${noun} list shows what there is.`,
      EXIT.notFound,
    )
  if (other !== undefined)
    throw new CliError(
      `${found.length} ${noun}s have the name '${printable(ref)}'.`,
      'Name the one you mean by its id.',
      EXIT.conflict,
      { why: found.map((item) => `${item.id}  ${words(item)}`) },
    )
  return first
}
