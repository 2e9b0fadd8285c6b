import type { WhyNotRunning } from '../../api/resources/why/schemas.ts'
import { printable } from '../../core/values/printable.ts'
import { findTask } from '../client/find-task.ts'
import { type ClientFlags, give, serverFrom } from '../client/output.ts'
import { queryOf } from '../client/server.ts'

/** Flags of `belfry task why`. */
export interface WhyFlags extends ClientFlags {
  readonly at?: string
}

export async function whyTask(ref: string, flags: WhyFlags): Promise<void> {
  const server = serverFrom(flags)
  const { id } = await findTask(server, ref)
  const answer = await server.get<WhyNotRunning>(`/v1/tasks/${id}/why${queryOf({ at: flags.at })}`)
  give(answer, flags, () => [answer, ...answer.also].map(causeText).join(''))
}

function causeText({ code, sentence, advice }: Pick<WhyNotRunning, 'code' | 'sentence' | 'advice'>): string {
  const lines = [
    `${code}: ${printable(sentence)}`,
    ...(advice === null ? [] : [`  try: ${printable(advice)}`]),
  ]
  return `${lines.join('\n')}\n`
}
