import { LRUCache } from 'lru-cache'

/**
 * A cache of at most so many entries whose room grows with them. With a plain `max` the room for all of them is taken at once:
 * 4 MB and 11 ms for a hundred thousand, which a node would pay for each of its caches when it starts.
 */
export const growingCache = <K extends {}, V extends {}>(
  most: number,
  options: Pick<LRUCache.OptionsMaxLimit<K, V, unknown>, 'ttl' | 'ttlResolution' | 'perf'> = {},
): LRUCache<K, V> => new LRUCache<K, V>({ ...options, maxSize: most, sizeCalculation: () => 1 })
