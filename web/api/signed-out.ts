/**
 * Nobody is signed in, or no longer. The sign-in page leads back to the same address, where forms still hold what was written
 * into them. It is loaded anew, so that nothing of what somebody else was shown is left in memory.
 */
const SIGN_IN_PAGE = '/sign-in'

let isLeaving = false

export function goToSignIn(): void {
  const { pathname, search, hash } = window.location
  if (isLeaving || pathname === SIGN_IN_PAGE) return
  isLeaving = true
  const here = pathname + search + hash
  window.location.assign(
    here === '/' ? SIGN_IN_PAGE : `${SIGN_IN_PAGE}?${new URLSearchParams({ return: here })}`,
  )
}
