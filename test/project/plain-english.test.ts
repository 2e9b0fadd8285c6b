/**
 * Phrases that must not come back. Readers had to read each of them twice. The better wording stands beside it. To check
 * more of the project, add a path to ROOTS.
 */
import { expect, test } from 'vitest'
import { FILES, read } from './tree.ts'

/** Files, and folders with a slash at the end. */
const ROOTS = [
  'README.md',
  'ARCHITECTURE.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'bench/README.md',
  'docs/',
]

interface Phrase {
  readonly banned: RegExp
  /** A sentence that was really there, or a part of one. */
  readonly said: string
  readonly better: string
}

/** Refused in every file below ROOTS, whatever its kind. */
const PHRASES: readonly Phrase[] = [
  { said: 'At most so many', banned: /\bso (?:many|much)\b/i, better: 'maximum number of, up to' },
  {
    said: 'given up for so long',
    banned: /\b(?:at most|up to|after|for) so (?:long|far)\b/i,
    better: 'for that time',
  },
  {
    said: 'in a table of its own',
    banned: /\b(?:an?|the|has|have|in|on|with) \w+ of (?:its|their|your|our|one's) own\b/i,
    better: 'its own …, a separate …',
  },
  {
    said: 'Missed while nobody was there',
    banned: /\bnobody (?:was|is) there\b/i,
    better: 'during downtime',
  },
  { said: 'the worker is told', banned: /\b(?:is|are|was|were|be) told\b/i, better: 'gets, is reported' },
  { said: 'make an earlier version hold again', banned: /\bholds? again\b/i, better: 'restore' },
  { said: 'Otherwise than the task says', banned: /\botherwise than\b/i, better: 'overrides' },
  { said: 'There is no such thing', banned: /\bno such thing\b/i, better: 'not found' },
  { said: 'The token was given to no worker', banned: /\bgiven to no \w+/i, better: 'unknown' },
  { said: 'with what they fail of', banned: /\bfails? of\b/i, better: 'their errors' },
  { said: 'Needs attention: Nothing does.', banned: /\bNothing does\b/, better: 'Nothing needs attention' },
  {
    said: 'a node would doubt itself',
    banned: /\bdoubts? (?:itself|themselves)\b/i,
    better: 'its lease may expire',
  },
  { said: 'nothing is met twice', banned: /\bnot met\b|\bmet twice\b/i, better: 'is returned twice' },
  {
    said: 'A run was to be run again that',
    banned: /\bwas to be run again\b/i,
    better: 'the run to be rerun',
  },
  { said: 'what makes up for an outage', banned: /\bm(?:ade?|akes?|aking) up for\b/i, better: 'catch up' },
  {
    said: 'all 1 places of the key',
    banned: /\ball \d+ places\b|\ba free place\b/i,
    better: 'at its limit, a free slot',
  },
  { said: 'what failed for good', banned: /\bfor good\b/i, better: 'permanently' },
  { said: 'kept for ever', banned: /\bfor ever\b/i, better: 'forever' },
  {
    said: 'a row may speak for several',
    banned: /\bspeaks? for (?:several|an?|the|how)\b/i,
    better: 'covers',
  },
  { said: 'an occurrence lies ahead', banned: /\bl(?:ies?|ay) ahead\b/i, better: 'is in the future' },
  {
    said: 'see what became of it',
    banned: /\bwhat (?:became|becomes|came|comes) of\b/i,
    better: 'the result of',
  },
  { said: 'is for the policy to say', banned: /\bis for [^.]{1,40} to say\b/i, better: '… decides' },
  { said: 'what comes to be in front of it', banned: /\bc(?:omes?|ame) to be\b/i, better: 'is created' },
  { said: 'whether it was put right', banned: /\bput right\b/i, better: 'repaired' },
  {
    said: 'in the manner of Standard Webhooks',
    banned: /\bin the manner of\b/i,
    better: 'according to, like',
  },
  {
    said: 'programs that are no browsers',
    banned: /\bthat (?:is|are) no \w+s\b/i,
    better: 'that is not a …',
  },
  {
    said: 'whichever one is asked',
    banned: /\bwhichever (?:one|node) (?:is asked|asks)\b/i,
    better: 'on every node',
  },
  {
    said: 'one row a run',
    banned:
      /\bone (?!(?:of|for|in) )\w+ an? (?:concept|run|shard|occurrence|attempt|node|commit|file|table)\b/i,
    better: 'one … per …',
  },
]

/** Refused in documents alone: the code has names and comments with these words. */
const PHRASES_OF_DOCUMENTS: readonly Phrase[] = [
  { said: 'an unwatched stretch', banned: /\bstretch(?:es)?\b/i, better: 'period' },
  { said: 'whoever asks', banned: /\bwhoever\b/i, better: 'anyone who, the node that' },
  { said: 'the run goes on', banned: /\b(?:goes|go|going|went) on\b/i, better: 'continue' },
  { said: 'runs in hand', banned: /\bin hand\b/i, better: 'in progress' },
  { said: 'goes on by itself', banned: /\bby (?:itself|themselves)\b/i, better: 'automatically, separately' },
  {
    said: 'tells how it ended',
    banned: /\btells? (?:of|whether|how|why|which)\b/i,
    better: 'shows, contains',
  },
  { said: 'nodes beat every 5 s', banned: /\bbeats?\b/i, better: 'heartbeat' },
  { said: 'the cadences below', banned: /\bcadences?\b/i, better: 'intervals' },
  { said: 'nowhere stored', banned: /\bnowhere\b/i, better: 'not' },
]

const isChecked = (path: string) =>
  /\.(?:md|tsx?|mjs|cjs|sql)$/.test(path) &&
  ROOTS.some((root) => (root.endsWith('/') ? path.startsWith(root) : path === root))

/** Takes a part away and keeps its line breaks, so that lines keep their numbers. */
const without = (text: string, part: RegExp) => text.replace(part, (found) => found.replace(/[^\n]/g, ' '))

/** What a document says in its own words: no code, no quotations, no released changes. */
function prose(path: string): string {
  const text = path === 'CHANGELOG.md' ? without(read(path), /^## \d.*/ms) : read(path)
  return [/^```.*?^```$/gms, /`[^`\n]*`/g, /^>.*$/gm].reduce(without, text)
}

function findings(path: string): string[] {
  const isDocument = path.endsWith('.md')
  const text = isDocument ? prose(path) : read(path)
  const phrases = isDocument ? [...PHRASES, ...PHRASES_OF_DOCUMENTS] : PHRASES
  // A phrase may be broken over two lines.
  const line = text.replaceAll('\n', ' ')
  return phrases.flatMap(({ banned, better }) =>
    [...line.matchAll(new RegExp(banned, `${banned.flags}g`))].map(
      ({ 0: found, index }) =>
        `${path}:${text.slice(0, index).split('\n').length} says "${found}"; better: ${better}`,
    ),
  )
}

test('no phrase that is hard to understand has come back', () => {
  const checked = FILES.filter(isChecked)

  expect(checked).toEqual(expect.arrayContaining(['README.md', 'docs/reference/glossary.md']))
  expect(checked.flatMap(findings)).toEqual([])
})

test.each([...PHRASES, ...PHRASES_OF_DOCUMENTS])('"$said" would be found', ({ said, banned }) => {
  expect(said).toMatch(banned)
})
