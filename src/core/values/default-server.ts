/** The server that commands use if none is named: one on this machine, with the default port. */
export const DEFAULT_SERVER = 'http://127.0.0.1:3369'
