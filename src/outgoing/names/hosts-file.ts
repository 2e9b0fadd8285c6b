import { isIP } from 'node:net'

/** Where the system lists names that it resolves locally. */
export const HOSTS_FILE =
  process.platform === 'win32' ? 'C:\\Windows\\System32\\drivers\\etc\\hosts' : '/etc/hosts'

/** Parses a hosts file into the addresses of each name, in the order of its lines. Names are in lower case. */
export function parseHosts(text: string): ReadonlyMap<string, readonly string[]> {
  const hosts = new Map<string, string[]>()
  for (const line of text.split('\n')) {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/)
    if (isIP(address) === 0) continue
    for (const name of names) add(hosts, name.toLowerCase(), address)
  }
  return hosts
}

function add(hosts: Map<string, string[]>, name: string, address: string): void {
  const known = hosts.get(name)
  if (known === undefined) hosts.set(name, [address])
  else if (!known.includes(address)) known.push(address)
}
