/** A user and group of the system. */
export interface Rights {
  readonly uid: number
  readonly gid: number
}

/**
 * As root, performs `work` with another user's privileges only, so that links which that user may have created lead only where
 * the user has access anyway. A check beforehand would leave a moment in which a path can be replaced. Without root privileges,
 * `work` is simply performed.
 *
 * The privileges apply to the whole process, so `work` must be synchronous.
 */
export function withRightsOf<T>(who: Rights | null, work: () => T): T {
  const { geteuid, getegid, getgroups, setgroups, setegid, seteuid } = process
  if (who === null || geteuid?.() !== 0 || !getegid || !getgroups || !setgroups || !setegid || !seteuid)
    return work()
  const before = { gid: getegid(), groups: getgroups() }
  try {
    setgroups([who.gid])
    setegid(who.gid)
    seteuid(who.uid)
    return work()
  } finally {
    seteuid(0)
    setegid(before.gid)
    setgroups(before.groups)
  }
}
