/** Formats files for the terminal. */
import type { File } from '../../api/resources/files/schemas.ts'
import { sizeWords } from '../../core/words/size.ts'

export const kindWords = ({ kind, architecture }: File) => [kind, architecture].filter(Boolean).join(' ')

export const contentWords = (file: File) =>
  [file.size === null ? 'of unknown size' : sizeWords(file.size), kindWords(file)].filter(Boolean).join(', ')
