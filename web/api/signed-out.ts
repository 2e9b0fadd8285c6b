/**
 * Leads to the sign-in page when the session is missing or over. Signing in returns to the same address, where forms still hold
 * unsaved input. The page is reloaded, so that no data of the previous user stays in memory.
 */
import { SIGN_IN_PAGE } from '../../src/core/access/sign-in-page.ts'

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
