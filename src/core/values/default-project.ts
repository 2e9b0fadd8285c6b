/** The project that exists from the first migration on; everything belongs to it until others are made. */
export const DEFAULT_PROJECT_ID = '00000000-0000-7000-8000-000000000001'
