/** Whether npm, npx or a script of package.json started this program. Signals then go to npm first. */
export const startedByNpm = (env: NodeJS.ProcessEnv): boolean =>
  env['npm_lifecycle_event'] !== undefined || env['npm_command'] === 'exec'
