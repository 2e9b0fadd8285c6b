import { CloseButton, Modal } from '@mantine/core'
import '@mantine/core/styles/Overlay.css'
import '@mantine/core/styles/ModalBase.css'
import '@mantine/core/styles/Modal.css'
import { type ReactNode, useEffect, useState } from 'react'
import classes from './dialog.module.css'
import { lastFocused } from './last-focus.ts'

interface DialogProps {
  readonly title: string
  readonly size?: string
  readonly onClose: () => void
  readonly children: ReactNode
}

/** A dialog that is open as long as it is rendered. It traps the focus and returns it when it closes. */
export function Dialog({ title, size = 'md', onClose, children }: DialogProps) {
  useFocusReturn()
  return (
    <Modal
      opened
      onClose={onClose}
      withCloseButton={false}
      size={size}
      centered
      returnFocus={false}
      // Locking the scroll would add a style element without a nonce; the overlay is enough.
      lockScroll={false}
      transitionProps={{ duration: 0 }}
      attributes={{ content: { 'aria-label': title } }}
    >
      <div className={classes.head}>
        <h2>{title}</h2>
        <CloseButton aria-label="Close" onClick={onClose} />
      </div>
      {children}
    </Modal>
  )
}

/**
 * Mantine returns the focus when a dialog closes, but these dialogs are unmounted instead. If the previously focused element no
 * longer exists, the page's content gets the focus.
 */
function useFocusReturn(): void {
  const [before] = useState(lastFocused)
  useEffect(
    () => () => {
      const place = before?.isConnected ? before : document.getElementById('content')
      place?.focus({ preventScroll: true })
    },
    [before],
  )
}
