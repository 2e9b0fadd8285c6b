import { useNavigate, useSearch } from '@tanstack/react-router'

/** Whether the section's panel for adding is open. The state is in the address, so that Back closes it. */
export function usePanel() {
  const { panel } = useSearch({ from: '/settings/$section' })
  const navigate = useNavigate()
  const show = (isOpen: boolean) =>
    void navigate({
      to: '.',
      // Undefined removes the parameter from the address.
      search: (before: Record<string, unknown>) =>
        ({ ...before, panel: isOpen ? 'new' : undefined }) as never,
      replace: !isOpen,
      resetScroll: false,
    })
  return { isOpen: panel === 'new', open: () => show(true), close: () => show(false) }
}
