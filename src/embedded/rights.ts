/** A user as the system knows it. */
export interface Rights {
  readonly uid: number
  readonly gid: number
}

/**
 * As root: does something with another user's rights and no others, so that whatever that user has put in the way, a
 * symbolic link above all, leads only where the user may go anyway. Checking first would leave a moment in which it
 * can be exchanged. Who is not root has no other rights than their own, and just does it.
 *
 * The rights are the whole process's, so `work` must be over when it returns: nothing may be awaited inside.
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
