/** Asks for confirmation before a permanent change. Without a terminal, the command line must contain `--yes`. */
import { createInterface } from 'node:readline/promises'
import { CliError, EXIT } from '../exit.ts'

export async function confirm(question: string, { yes }: { readonly yes?: boolean }): Promise<void> {
  if (yes === true) return
  if (process.stdin.isTTY !== true || process.stderr.isTTY !== true)
    throw new CliError(
      `${question} This needs confirmation, and there is no terminal.`,
      'Add --yes to confirm.',
      EXIT.usage,
    )
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  const answer = await terminal.question(`${question} [y/N] `)
  terminal.close()
  if (!/^y(es)?$/i.test(answer.trim()))
    throw new CliError('Cancelled; nothing was changed.', 'Answer y, or add --yes.', EXIT.failed)
}
