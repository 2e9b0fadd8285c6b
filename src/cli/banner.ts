import { onStdout as c } from './terminal.ts'

/** Values that the banner shows. */
export interface Banner {
  readonly url: string
  /** Whether the API is available there; otherwise only the probes are. */
  readonly hasApi: boolean
  /** Data directory of the embedded database; null if the database is external. */
  readonly dataDir: string | null
  readonly graceMs: number
  /** Whether the server is reachable from this machine only. */
  readonly isLoopback: boolean
  /** Whether requests need no API key. */
  readonly isOpen: boolean
}

/** Prints what a new user needs next: the addresses, one command to try, how to stop. */
export function printBanner(banner: Banner): void {
  process.stdout.write(bannerText(banner))
}

export function bannerText({ url, hasApi, dataDir, graceMs, isLoopback, isOpen }: Banner): string {
  const lines: [string, string][] = []
  if (!hasApi) lines.push(['Probes', c.cyan(`${url}/readyz`)])
  else
    lines.push(
      ['Dashboard', c.cyan(url)],
      ['API', c.cyan(`${url}/v1/tasks`)],
      ['API docs', c.cyan(`${url}/docs`)],
    )
  if (dataDir !== null) lines.push(['Data', dataDir])
  if (hasApi)
    lines.push([
      'Try it',
      `curl -X POST ${url}/tasks -H 'content-type: application/json' -d '{"command":"5s"}'`,
    ])
  lines.push(['Stop', `Ctrl-C (runs in progress get ${Math.round(graceMs / 1000)} s)`])
  const reach = isLoopback ? ' Accessible from this machine only;' : ''
  const ready = !hasApi ? 'Ready.' : `Ready.${reach} ${isOpen ? 'no API key needed' : 'API key required'}.`
  const body = lines.map(([label, text]) => `  ${label.padEnd(10)} ${text}`).join('\n')
  return `\n${body}\n\n  ${c.dim(ready)}\n\n`
}
