/**
 * Decides whose turn it is when there are more groups of waiting claims than one pass serves. Each project gets one group per
 * round, so that a project whose workers make thousands of different offers does not delay the claims of the others.
 */

/** What the claims of one group have in common, as far as it concerns their turn. */
export interface Turn {
  readonly projectId: string
  /** The pass that last served the group; 0 if none has. */
  readonly servedIn: number
}

/** Returns up to `most` groups in the order in which to serve them; all of them as they are, if they are no more. */
export function nextTurns<T extends Turn>(groups: readonly T[], most: number): readonly T[] {
  if (groups.length <= most) return groups
  const before = new Map<string, number>()
  const rounds = groups
    .toSorted((a, b) => a.servedIn - b.servedIn)
    .map((group) => {
      const round = before.get(group.projectId) ?? 0
      before.set(group.projectId, round + 1)
      return { group, round }
    })
  // Sorting is stable: within a round, the project that has waited longest comes first.
  return rounds
    .toSorted((a, b) => a.round - b.round)
    .slice(0, most)
    .map(({ group }) => group)
}
