/** Times single creates: one after the other, and several at once. */

/**
 * @param {number} count
 * @param {number} connections
 * @param {() => Promise<unknown>} create
 */
export async function timeCreates(count, connections, create) {
  const latenciesMs = []
  let left = count
  const startedAt = performance.now()
  const client = async () => {
    while (left-- > 0) {
      const from = performance.now()
      await create()
      latenciesMs.push(performance.now() - from)
    }
  }
  await Promise.all(Array.from({ length: connections }, client))
  return { latenciesMs, seconds: (performance.now() - startedAt) / 1000 }
}

/**
 * @param {number} count
 * @param {number} batch
 * @param {(size: number) => Promise<unknown>} createMany
 */
export async function timeBulk(count, batch, createMany) {
  const startedAt = performance.now()
  for (let done = 0; done < count; done += batch) await createMany(Math.min(batch, count - done))
  return { seconds: (performance.now() - startedAt) / 1000 }
}
