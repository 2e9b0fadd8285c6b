/** Records keys pressed while the palette is still loading and passes them to it, so that they do nothing else meanwhile. */

/** After this time, typed keys are no longer meant for the palette. */
const PATIENCE_MS = 10_000

let text: string | null = null
let patience: ReturnType<typeof setTimeout> | undefined

/** The recorded text after another key press. */
export function afterKey(before: string, key: string): string {
  if (key === 'Backspace') return before.slice(0, -1)
  return [...key].length === 1 ? before + key : before
}

function onKey(event: KeyboardEvent): void {
  if (text === null || event.ctrlKey || event.metaKey || event.altKey || event.key === 'Tab') return
  if (event.key === 'Escape') return void endTyping()
  event.preventDefault()
  event.stopImmediatePropagation()
  text = afterKey(text, event.key)
}

export function beginTyping(): void {
  if (text !== null) return
  text = ''
  window.addEventListener('keydown', onKey, { capture: true })
  patience = setTimeout(endTyping, PATIENCE_MS)
}

/** Stops recording and returns the text. */
export function endTyping(): string {
  const typed = text ?? ''
  text = null
  clearTimeout(patience)
  window.removeEventListener('keydown', onKey, { capture: true })
  return typed
}
