/**
 * The documents, what the program says and its comments are in plain English: phrases that readers stumbled over do not come
 * back. To check more documents, add a path to ROOTS.
 */
import { parseSync } from 'vite'
import { expect, test } from 'vitest'
import { PHRASES, PHRASES_OF_SENTENCES, type Phrase } from './phrases.ts'
import { FILES, read, SOURCES } from './tree.ts'

const ALL = [...PHRASES, ...PHRASES_OF_SENTENCES]

/** Files, and folders with a slash at the end. */
const ROOTS = [
  'README.md',
  'ARCHITECTURE.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'bench/README.md',
  'docs/',
  'web/',
]

const isChecked = (path: string) =>
  /\.(?:md|tsx?|mjs|cjs|sql)$/.test(path) &&
  ROOTS.some((root) => (root.endsWith('/') ? path.startsWith(root) : path === root))

/** Takes a part away and keeps its line breaks, so that lines keep their numbers. */
const without = (text: string, part: RegExp) => text.replace(part, (found) => found.replace(/[^\n]/g, ' '))

/** What a document says in its own words: no code, no quotations, no released changes. */
function prose(path: string): string {
  const text = path === 'CHANGELOG.md' ? without(read(path), /^## \d.*/ms) : read(path)
  return [/^ *```.*?^ *```$/gms, /`[^`\n]*`/g, /^>.*$/gm].reduce(without, text)
}

function findings(path: string): string[] {
  const text = path.endsWith('.md') ? prose(path) : read(path)
  const phrases = path.endsWith('.md') ? ALL : PHRASES
  // A phrase may be broken over two lines.
  const line = text.replaceAll('\n', ' ')
  return phrases.flatMap(({ banned, better }) =>
    [...line.matchAll(new RegExp(banned, `${banned.flags}g`))].map(
      ({ 0: found, index }) =>
        `${path}:${text.slice(0, index).split('\n').length} says "${found}"; better: ${better}`,
    ),
  )
}

test('the documents contain no phrase that is hard to understand', () => {
  const checked = FILES.filter(isChecked)

  expect(checked).toEqual(expect.arrayContaining(['README.md', 'docs/reference/glossary.md']))
  expect(checked.flatMap(findings)).toEqual([])
})

/** Sources whose comments are checked as well. */
const COMMENTED = FILES.filter((path) => /^(?:src|scripts|examples|bench)\/.*\.(?:ts|mjs|js)$/.test(path))

/** Comments of a file. Lines that follow one another are one comment, because a phrase may be broken over two. */
function commentsOf(path: string): Said[] {
  const source = read(path)
  const found: Said[] = []
  let end = 0
  for (const comment of parseSync(path, source).comments) {
    const text = comment.value.replaceAll(/\n\s*\*?\s*/g, ' ')
    const before = found.at(-1)
    if (before && comment.type === 'Line' && /^\n *$/.test(source.slice(end, comment.start)))
      found[found.length - 1] = { at: before.at, text: before.text + text }
    else found.push({ at: `${path}:${source.slice(0, comment.start).split('\n').length}`, text })
    end = comment.end
  }
  return found
}

test('the comments of the program, the scripts and the examples contain no such phrase', () => {
  const comments = COMMENTED.flatMap(commentsOf)

  expect(comments.length).toBeGreaterThan(5_000)
  expect(comments.flatMap((comment) => stumbles(comment, PHRASES))).toEqual([])
})

interface Said {
  readonly at: string
  readonly text: string
}

/** String literals of a file, the text between the expressions of its templates, and that of pages; SQL is not a sentence. */
function literalsOf(path: string): Said[] {
  const source = read(path)
  const found: Said[] = []
  const visit = (node: unknown): void => {
    if (Array.isArray(node)) for (const one of node) visit(one)
    if (typeof node !== 'object' || node === null || !('type' in node)) return
    if (node.type === 'TaggedTemplateExpression' || node.type === 'ImportDeclaration') return
    const { start } = node as unknown as { start: number }
    const at = () => `${path}:${source.slice(0, start).split('\n').length}`
    if (
      (node.type === 'Literal' || node.type === 'JSXText') &&
      'value' in node &&
      typeof node.value === 'string'
    )
      found.push({ at: at(), text: node.value })
    if (node.type === 'TemplateElement' && 'value' in node)
      found.push({ at: at(), text: (node.value as { cooked: string }).cooked })
    for (const child of Object.values(node)) visit(child)
  }
  visit(parseSync(path, source).program.body)
  return found
}

/** The program of a thread, as text. */
const NO_SENTENCES = ['src/sdk/beat-thread.ts']

const PROGRAM = SOURCES.filter((path) => !NO_SENTENCES.includes(path))
const DASHBOARD = FILES.filter((path) => /^web\/.*(?<!\.test)\.tsx?$/.test(path))

/** Help of the command line breaks its lines anywhere. */
const onOneLine = (text: string) => text.replaceAll(/\s*\n\s*/g, ' ').trim()

const stumbles = ({ at, text }: Said, phrases: readonly Phrase[] = ALL) =>
  phrases
    .filter(({ banned }) => banned.test(onOneLine(text)))
    .map(({ better }) => `${at} says "${onOneLine(text)}"; better: ${better}`)

test.each([
  ['help, errors, API descriptions and logs', PROGRAM, 1_000],
  ['the pages of the dashboard', DASHBOARD, 500],
])('%s contain no such phrase', (_, paths, atLeast) => {
  const said = paths.flatMap(literalsOf).filter(({ text }) => /[a-z] [a-z]/i.test(text))

  expect(said.length).toBeGreaterThan(atLeast)
  expect(said.flatMap((one) => stumbles(one))).toEqual([])
})

test.each(ALL)('"$said" would be found', ({ said, banned }) => {
  expect(said).toMatch(banned)
})
