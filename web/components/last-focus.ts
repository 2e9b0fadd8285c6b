/**
 * Where the focus is to go back to when what lies over the page goes: where it was last that does not go as well. A menu
 * that opens a dialog is gone before the dialog is there, so nobody can be asked then.
 */

const PASSING = '[role=dialog], [role=menu], [role=listbox]'

let last: HTMLElement | null = null

document.addEventListener('focusin', ({ target }) => {
  if (target instanceof HTMLElement && target.closest(PASSING) === null) last = target
})

export const lastFocused = (): HTMLElement | null => last
