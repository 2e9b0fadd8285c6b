import { useNavigate, useSearch } from '@tanstack/react-router'

/** Whether the panel of a section that adds something is open. The address says so; Back closes it. */
export function usePanel() {
  const { panel } = useSearch({ from: '/settings/$section' })
  const navigate = useNavigate()
  const show = (isOpen: boolean) =>
    void navigate({
      to: '.',
      // Undefined takes it out of the address.
      search: (before: Record<string, unknown>) =>
        ({ ...before, panel: isOpen ? 'new' : undefined }) as never,
      replace: !isOpen,
      resetScroll: false,
    })
  return { isOpen: panel === 'new', open: () => show(true), close: () => show(false) }
}
