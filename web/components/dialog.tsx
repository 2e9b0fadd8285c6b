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

/** A dialog that is open as long as it is drawn. It keeps the focus inside and gives it back at the end. */
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
      // Locking would add a style element under no nonce; the overlay is enough.
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
 * The kit gives the focus back when a dialog closes, and ours do not close but go. Where what was focused is not there
 * any more, the content of the page is next to it.
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
