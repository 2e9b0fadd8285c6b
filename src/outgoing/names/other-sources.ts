/** Determines which names the system may resolve from sources other than its hosts file and DNS. */

export const NSSWITCH_CONF = '/etc/nsswitch.conf'

/** Sources that c-ares and the hosts file cover, or that know only single labels and `.local`. */
const COVERED = /^(files|dns|myhostname|mdns[46]?_minimal)$/

/** Whether the system asks sources of host names that may know any name. A system without the file has none. */
export function hasOtherSources(nsswitch: string): boolean {
  const [, sources = ''] = /^\s*hosts:(.*)$/m.exec(nsswitch.replace(/#.*/g, '')) ?? []
  const words = sources
    .replace(/\[[^\]]*\]/g, ' ')
    .trim()
    .split(/\s+/)
  return words.some((word) => word !== '' && !COVERED.test(word))
}

/** Loopback by definition; DNS is not asked for it. */
export const isLocalhost = (name: string) => name === 'localhost' || name.endsWith('.localhost')

/** Names of the local network, which mDNS, NetBIOS and similar services resolve. */
export const isLocalName = (name: string) => !name.includes('.') || name.endsWith('.local')
