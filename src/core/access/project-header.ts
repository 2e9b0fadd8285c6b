/** The header by which callers with access to several projects name one. */
export const PROJECT_HEADER = 'belfry-project'
