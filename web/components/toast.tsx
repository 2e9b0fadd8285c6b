/** Short notifications about what was just done, with an undo button where possible. */
import { Button } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import type { ReactNode } from 'react'
import { ApiError } from '../api/client.ts'
import classes from './toast.module.css'

/** How long an action can be undone. */
const UNDO_MS = 10_000
const SAID_MS = 6_000

interface Toast {
  readonly text: ReactNode
  readonly undo?: () => Promise<unknown>
}

export function tell({ text, undo }: Toast): void {
  const id = crypto.randomUUID()
  const takeBack = async () => {
    notifications.hide(id)
    await undo?.().catch(tellFailure)
  }
  notifications.show({
    id,
    autoClose: undo ? UNDO_MS : SAID_MS,
    closeButtonProps: { 'aria-label': 'Dismiss' },
    message: (
      <span className={classes.line}>
        <span>{text}</span>
        {undo && (
          <Button size="compact-sm" variant="default" onClick={() => void takeBack()}>
            Undo
          </Button>
        )}
      </span>
    ),
  })
}

export function tellFailure(error: unknown): void {
  const problem = error instanceof ApiError ? error.problem : null
  notifications.show({
    color: 'red',
    title: problem?.title ?? 'Something went wrong',
    message: problem?.detail ?? String(error),
    autoClose: UNDO_MS,
    closeButtonProps: { 'aria-label': 'Dismiss' },
  })
}
