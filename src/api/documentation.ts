/** What the OpenAPI document says besides the routes. */
export function documentation(version: string) {
  return {
    openapi: '3.1.0' as const,
    info: {
      title: 'Belfry',
      version,
      description:
        'A task scheduler. Instants are RFC 3339 in UTC, durations are text such as `30s` or `1h30m`, lists come in pages with `nextCursor`. ' +
        'Errors are problem documents (RFC 9457) with a stable `code`.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    security: [],
    tags: [
      { name: 'tasks', description: 'What to do and when.' },
      { name: 'runs', description: 'What became of it.' },
      { name: 'schedules', description: 'Looking ahead.' },
      { name: 'health', description: 'For probes and load balancers.' },
      { name: 'compatibility', description: 'The `/tasks` interface.' },
    ],
  }
}
