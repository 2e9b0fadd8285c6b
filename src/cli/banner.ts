import pc from 'picocolors'

export interface Banner {
  readonly url: string | null
  readonly dataDir: string | null
  readonly graceMs: number
}

/** What a newcomer needs next: where it is, one thing to try, how to stop. */
export function printBanner({ url, dataDir, graceMs }: Banner): void {
  const lines: [string, string][] = []
  if (url !== null) {
    lines.push(['API', pc.cyan(`${url}/v1/tasks`)], ['API docs', pc.cyan(`${url}/docs`)])
    if (dataDir !== null) lines.push(['Data', dataDir])
    lines.push([
      'Try it',
      `curl -X POST ${url}/tasks -H 'Content-Type: application/json' -d '{"command":"5s"}'`,
    ])
  }
  lines.push(['Stop', `Ctrl-C (runs in progress get ${Math.round(graceMs / 1000)} s)`])
  const note = url === null ? '' : `\n  ${pc.dim('Ready. Open to this machine only, no key needed.')}\n`
  process.stdout.write(
    `\n${lines.map(([label, text]) => `  ${label.padEnd(10)} ${text}`).join('\n')}\n${note}\n`,
  )
}
