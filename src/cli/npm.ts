/** Whether npm, npx or a script of package.json started this program, and so stands between it and whoever stops it. */
export const startedByNpm = (env: NodeJS.ProcessEnv): boolean =>
  env['npm_lifecycle_event'] !== undefined || env['npm_command'] === 'exec'
