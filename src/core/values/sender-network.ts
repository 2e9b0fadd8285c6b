/**
 * The network of a sender, for counting requests. The owner of one IPv6 address usually has the whole /64 network, so IPv6
 * senders are counted by it.
 */
export function senderNetwork(address: string | null): string {
  if (address === null || !address.includes(':') || address.includes('.')) return address ?? ''
  const [head = '', tail] = address.split('::')
  const groups = head === '' ? [] : head.split(':')
  const missing = tail === undefined ? 0 : 8 - groups.length - (tail === '' ? 0 : tail.split(':').length)
  return [...groups, ...Array<string>(Math.max(0, missing)).fill('0')].slice(0, 4).join(':')
}
