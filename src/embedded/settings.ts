/**
 * Server settings. All are passed on the command line, so they take precedence over postgresql.conf, and a new release of
 * Belfry changes them without editing files.
 */

import { totalmem } from 'node:os'

/** Where the server listens: a socket in a directory, or a loopback port. */
export interface Listening {
  readonly socketDir: string | null
  readonly port: number
}

const GIGABYTE = 1024 ** 3

const DURABLE = {
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
}

const TUNED = {
  max_connections: '100',
  // The included builds lack lz4.
  wal_compression: 'pglz',
  max_wal_size: '2GB',
  min_wal_size: '256MB',
  // JIT compilation takes longer than any of Belfry's statements.
  jit: 'off',
  random_page_cost: '1.1',
  // Small tables change constantly: vacuum often, with little work each time.
  autovacuum_naptime: '15s',
  autovacuum_max_workers: '2',
  autovacuum_vacuum_scale_factor: '0.1',
  autovacuum_analyze_scale_factor: '0.05',
}

const QUIET = {
  timezone: 'UTC',
  log_timezone: 'UTC',
  lc_messages: 'C',
  cluster_name: 'belfry',
  log_line_prefix: '%m [%p] ',
  log_checkpoints: 'off',
  // Belfry reports failed statements itself; their text can contain data of users.
  log_min_error_statement: 'panic',
}

/** TLS is off and the server accepts only local connections: the included OpenSSL must not be exposed to a network. */
export function settingsFor(listening: Listening, extra: Record<string, string>): Record<string, string> {
  return {
    ...DURABLE,
    ...TUNED,
    shared_buffers: totalmem() < 2 * GIGABYTE ? '128MB' : '256MB',
    ...QUIET,
    ...extra,
    ssl: 'off',
    port: String(listening.port),
    listen_addresses: listening.socketDir === null ? '127.0.0.1' : '',
    // Quoted, because a comma would part two directories.
    unix_socket_directories: listening.socketDir === null ? '' : `"${listening.socketDir}"`,
    unix_socket_permissions: '0700',
  }
}

export function asArguments(settings: Record<string, string>): string[] {
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
}
