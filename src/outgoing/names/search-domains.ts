/** Which names to query for a host name, by the rules of resolv.conf: `db` may mean `db.example.com`. */

export const RESOLV_CONF = '/etc/resolv.conf'

/** Maximum number of search domains; orchestrators that write this file allow as many. */
export const MAX_SEARCH_DOMAINS = 32

/** The rules of resolv.conf for names that are not complete. */
export interface SearchRules {
  readonly domains: readonly string[]
  /** A name with at least this many dots is first queried unchanged. */
  readonly minDots: number
}

/** The last `search` or `domain` line counts, as it does for the system's own resolver. */
export function parseSearchRules(text: string): SearchRules {
  let domains: readonly string[] = []
  let minDots = 1
  for (const line of text.split('\n')) {
    const [keyword, ...values] = line.trim().split(/\s+/)
    if (keyword === 'search') domains = values
    else if (keyword === 'domain') domains = values.slice(0, 1)
    else if (keyword === 'options') minDots = minDotsOf(values) ?? minDots
  }
  const named = domains.map((domain) => domain.toLowerCase().replace(/^\.+|\.+$/g, ''))
  return { domains: named.filter((domain) => domain !== '').slice(0, MAX_SEARCH_DOMAINS), minDots }
}

function minDotsOf(options: readonly string[]): number | undefined {
  for (const option of options) {
    const [, count] = /^ndots:(\d+)$/.exec(option) ?? []
    if (count !== undefined) return Number(count)
  }
  return undefined
}

/** Returns the names to query, in order, until one of them has addresses. A name that ends in a dot is complete. */
export function candidatesOf(name: string, { domains, minDots }: SearchRules): readonly string[] {
  if (name.endsWith('.')) return [name.slice(0, -1)]
  const searched = domains.map((domain) => `${name}.${domain}`)
  const dots = name.split('.').length - 1
  return dots >= minDots ? [name, ...searched] : [...searched, name]
}
