/** Filters and open parts of the list of dead letters in the address. */
import { GROUPINGS, type Grouping } from '../../../src/core/run/grouping.ts'
import { choiceIn, type RawSearch, type RowSearch, rowIn, textIn } from '../../app/search.ts'
import { SPANS, type Span } from '../../components/span.ts'

export const LETTER_PANELS = ['redrive', 'dismiss'] as const
export type LetterPanel = (typeof LETTER_PANELS)[number]

export interface LetterSearch extends RowSearch {
  readonly by?: Grouping
  readonly since?: Span
  /** Only dead letters of this task. */
  readonly task?: string
  /** Key of the open group. */
  readonly group?: string
  /** The open panel, for the open group or for the whole list. */
  readonly panel?: LetterPanel
}

export function letterSearch(search: RawSearch): LetterSearch {
  const found = {
    by: choiceIn(search, 'by', GROUPINGS),
    since: choiceIn(search, 'since', SPANS),
    task: textIn(search, 'task'),
    group: textIn(search, 'group'),
    panel: choiceIn(search, 'panel', LETTER_PANELS),
    ...rowIn(search),
  }
  return Object.fromEntries(Object.entries(found).filter(([, value]) => value !== undefined))
}
