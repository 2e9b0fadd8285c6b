/** The spelling of time zone names, and notes on names that are better avoided. */
import { LRUCache } from 'lru-cache'

const MAX_NAMES = 2_048
const spellings = new LRUCache<string, string>({ max: MAX_NAMES })

/**
 * The proper spelling of a known zone, given in any capitalisation: `europe/vienna` becomes Europe/Vienna. An alias remains an
 * alias.
 */
export function spellZone(name: string): string {
  let spelling = spellings.get(name)
  if (spelling === undefined) {
    const canonical = new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone
    spelling = canonical.toLowerCase() === name.toLowerCase() ? canonical : spellAlias(name)
    spellings.set(name, spelling)
  }
  return spelling
}

/** Parts of names that do not simply begin with one capital letter. */
const PARTS = [
  ...[
    'UTC',
    'GMT',
    'UCT',
    'EST',
    'EDT',
    'CST',
    'CDT',
    'MST',
    'MDT',
    'PST',
    'PDT',
    'HST',
    'EET',
    'CET',
    'MET',
    'WET',
  ],
  ...[
    'EST5EDT',
    'CST6CDT',
    'MST7MDT',
    'PST8PDT',
    'US',
    'NZ',
    'GB',
    'PRC',
    'ROK',
    'ROC',
    'NSW',
    'ACT',
    'LHI',
    'CHAT',
  ],
  ...[
    'IN',
    'of',
    'es',
    'au',
    'McMurdo',
    'DumontDUrville',
    'ComodRivadavia',
    'BajaNorte',
    'EasterIsland',
    'BajaSur',
  ],
]
const BY_LOWER = new Map(PARTS.map((part) => [part.toLowerCase(), part]))

const spellAlias = (name: string): string =>
  name.replace(/[a-z0-9]+/gi, (part) => {
    const lower = part.toLowerCase()
    return BY_LOWER.get(lower) ?? lower.charAt(0).toUpperCase() + lower.slice(1)
  })

/** Abbreviations of offsets. Most are used by several zones, of which the runtime picks one. */
const ABBREVIATION = /^(?!UTC$|GMT$|UCT$)[A-Z]{3,4}$/i

/** A note for users who entered an abbreviation; null for a proper name. */
export function zoneNote(name: string): string | null {
  if (!ABBREVIATION.test(name) || /^(?:cuba|eire|iran|zulu|prc|roc|rok)$/i.test(name)) return null
  const meant = new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone
  return `${name} is an abbreviation and is interpreted as ${meant}, including its daylight saving changes if it has any; use the full name, such as ${meant}`
}
