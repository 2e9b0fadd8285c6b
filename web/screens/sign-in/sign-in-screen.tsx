/** The sign-in page: with a company account if a provider is configured, or with an API key. */
import { Button, PasswordInput } from '@mantine/core'
import '@mantine/core/styles/PasswordInput.css'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { type FormEvent, useEffect, useState } from 'react'
import { SIGN_IN_FAILURES } from '../../../src/core/access/sign-in-failure.ts'
import { ApiError } from '../../api/client.ts'
import { signInMethodsQuery, signInWithKey } from '../../api/me.ts'
import { Failure } from '../../components/failure.tsx'
import { Icon } from '../../components/icon.tsx'
import { Bones } from '../../components/panel.tsx'
import { useTitle } from '../../components/title.ts'
import classes from './sign-in.module.css'

const route = getRouteApi('/sign-in')

export function SignInScreen() {
  useTitle('Sign in')
  const { error: failure, return: path = '/' } = route.useSearch()
  const { data: methods, error, refetch } = useQuery(signInMethodsQuery)
  const isOpen = methods?.isOpen === true
  useEffect(() => {
    if (isOpen) window.location.replace(path)
  }, [isOpen, path])
  return (
    <main className={classes.page}>
      <section className={classes.box}>
        <div className={classes.brand}>
          <Icon name="bell" size={28} />
          <h1>Sign in to Belfry</h1>
        </div>
        {failure && (
          <p className={classes.failure} role="alert">
            {SIGN_IN_FAILURES[failure]}
          </p>
        )}
        {error && !methods && <Failure error={error} onRetry={() => void refetch()} />}
        {!methods && !error && <Bones count={2} />}
        {methods?.openid && (
          <>
            <Button component="a" href={loginAddress(path)} fullWidth>
              Sign in with your company account
            </Button>
            <p className={classes.small}>Continues at {methods.openid.name}</p>
            <div className={classes.or}>or</div>
          </>
        )}
        {methods && !isOpen && <KeyForm path={path} isOnlyWay={methods.openid === null} />}
      </section>
    </main>
  )
}

const loginAddress = (path: string): string =>
  path === '/' ? '/auth/login' : `/auth/login?${new URLSearchParams({ return: path })}`

interface KeyFormProps {
  readonly path: string
  readonly isOnlyWay: boolean
}

function KeyForm({ path, isOnlyWay }: KeyFormProps) {
  const [key, setKey] = useState('')
  const [error, setError] = useState<unknown>(null)
  const [isBusy, setBusy] = useState(false)
  const go = async (event: FormEvent) => {
    event.preventDefault()
    if (key.trim() === '' || isBusy) return
    setBusy(true)
    setError(null)
    try {
      await signInWithKey(key.trim())
      window.location.replace(path)
    } catch (refused) {
      setError(refused)
      setBusy(false)
    }
  }
  return (
    <form className={classes.form} onSubmit={(event) => void go(event)} noValidate>
      <PasswordInput
        label="API key"
        description="Begins with bf_. An admin can create one: belfry key create"
        autoComplete="current-password"
        autoFocus={isOnlyWay}
        value={key}
        error={error instanceof ApiError && error.problem.status < 500 ? error.problem.detail : undefined}
        onChange={(event) => setKey(event.currentTarget.value)}
        visibilityToggleButtonProps={{ 'aria-label': 'Show the key' }}
      />
      <Button type="submit" loading={isBusy} variant={isOnlyWay ? 'filled' : 'default'} fullWidth>
        Sign in with this key
      </Button>
      {error !== null && !(error instanceof ApiError && error.problem.status < 500) && (
        <Failure error={error} />
      )}
    </form>
  )
}
