/** The id of the project `default`, which the first migration creates. */
export const DEFAULT_PROJECT_ID = '00000000-0000-7000-8000-000000000001'
