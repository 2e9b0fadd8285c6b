/** The suites that `npm run suite` lists. */
interface Suite {
  readonly name: string
  readonly shows: string
  /** A file, or a folder with a slash at the end. */
  readonly path?: string
  readonly module?: () => Promise<{ readonly run: unknown }>
}

const index = new URL('../../scripts/suites/index.mjs', import.meta.url)
export const { SUITES } = (await import(index.href)) as { readonly SUITES: readonly Suite[] }
