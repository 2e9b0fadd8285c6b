/** Set by bench/run.mjs when it bundles a benchmark. */
declare const PROJECT_ROOT: string

export const ROOT = PROJECT_ROOT
