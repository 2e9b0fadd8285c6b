/**
 * Colours and sizes. Mantine's defaults do not reach the contrast that WCAG AA requires; these do, in both colour schemes, and
 * a test measures every screen.
 */
import { type CSSVariablesResolver, createTheme } from '@mantine/core'

/** Mantine's dark shades are a warm grey that does not go with the panels; these have the hue of the panels. */
const DARK = [
  '#dfe2e8',
  '#c3c8d1',
  '#a9b1ba',
  '#7c8593',
  '#474e5c',
  '#363c48',
  '#252932',
  '#1c1f26',
  '#181b21',
  '#101216',
] as const

export const theme = createTheme({
  colors: { dark: DARK },
  primaryColor: 'indigo',
  primaryShade: { light: 7, dark: 8 },
  autoContrast: true,
  defaultRadius: 'md',
  cursorType: 'pointer',
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif',
  fontFamilyMonospace:
    'ui-monospace, SFMono-Regular, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace',
})

export const cssVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    '--mantine-color-dimmed': '#565d66',
    '--mantine-color-body': '#fbfbfd',
    '--mantine-color-placeholder': '#6a717a',
    '--mantine-color-error': '#c22b2b',
  },
  dark: {
    '--mantine-color-dimmed': '#a9b1ba',
    '--mantine-color-body': '#15171c',
    '--mantine-color-placeholder': '#98a0a9',
    '--mantine-color-error': '#ff8585',
  },
})
