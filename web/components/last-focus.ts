/**
 * Remembers the last focused element outside of overlays, to which the focus returns when an overlay closes. A menu that opens
 * a dialog is gone before the dialog appears, so the element cannot be looked up then.
 */

const PASSING = '[role=dialog], [role=menu], [role=listbox]'

let last: HTMLElement | null = null

document.addEventListener('focusin', ({ target }) => {
  if (target instanceof HTMLElement && target.closest(PASSING) === null) last = target
})

export const lastFocused = (): HTMLElement | null => last
