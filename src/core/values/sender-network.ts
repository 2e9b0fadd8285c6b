/** Whoever has one IPv6 address has all of its network of 64 bits: what is counted by sender is counted by this. */
export function senderNetwork(address: string | null): string {
  if (address === null || !address.includes(':') || address.includes('.')) return address ?? ''
  const [head = '', tail] = address.split('::')
  const groups = head === '' ? [] : head.split(':')
  const missing = tail === undefined ? 0 : 8 - groups.length - (tail === '' ? 0 : tail.split(':').length)
  return [...groups, ...Array<string>(Math.max(0, missing)).fill('0')].slice(0, 4).join(':')
}
