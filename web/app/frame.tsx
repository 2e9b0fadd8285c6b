/** Wraps a page in the navigation shell, unless nobody is signed in yet or the user has no role. */
import { useQuery } from '@tanstack/react-query'
import { Outlet, useLocation } from '@tanstack/react-router'
import { lazy, Suspense } from 'react'
import { SIGN_IN_PAGE } from '../../src/core/access/sign-in-page.ts'
import { type Me, meQuery } from '../api/me.ts'
import { Shell } from './shell.tsx'

const NoRole = lazy(() => import('./no-role.tsx').then(({ NoRole }) => ({ default: NoRole })))

export function Frame() {
  const isSigningIn = useLocation({ select: ({ pathname }) => pathname === SIGN_IN_PAGE })
  return isSigningIn ? <Outlet /> : <Inside />
}

function Inside() {
  const { data: me } = useQuery(meQuery)
  if (me && !hasRole(me))
    return (
      <Suspense>
        <NoRole me={me} />
      </Suspense>
    )
  return <Shell />
}

const hasRole = ({ installationRole, projects }: Me): boolean =>
  installationRole !== null || projects.length > 0
