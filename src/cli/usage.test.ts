import { Command, type CommanderError } from 'commander'
import { expect, test } from 'vitest'
import { blackoutCommand } from './commands/blackout.ts'
import { queueCommand } from './commands/queue.ts'
import { runCommand } from './commands/run.ts'
import { scheduleCommand } from './commands/schedule.ts'
import { signingSecretCommand } from './commands/signing-secret.ts'
import { taskCommand } from './commands/task.ts'
import { explainUsage } from './usage.ts'

const COMMANDS = [
  taskCommand,
  runCommand,
  scheduleCommand,
  blackoutCommand,
  queueCommand,
  signingSecretCommand,
]

function answerTo(line: string): string {
  const program = new Command('belfry').exitOverride().configureOutput({ outputError: () => {} })
  for (const addTo of COMMANDS) addTo(program)
  const args = line.split(' ')
  try {
    program.parse(args, { from: 'user' })
  } catch (error) {
    return explainUsage(error as CommanderError, program, args).message
  }
  throw new Error(`'belfry ${line}' was understood`)
}

test.each([
  ['task unpause hello', "Unknown command 'unpause'. Did you mean 'belfry task resume'?"],
  ['queue unpause reports', "Unknown command 'unpause'. Did you mean 'belfry queue resume'?"],
  ['unpause hello', "Unknown command 'unpause'. Did you mean 'belfry task resume'?"],
  ['task stop hello', "Unknown command 'stop'. Did you mean 'belfry task pause'?"],
  ['run stop 1', "Unknown command 'stop'. Did you mean 'belfry run cancel'?"],
  ['task remove hello', "Unknown command 'remove'. Did you mean 'belfry task delete'?"],
  ['blackout delete freeze', "Unknown command 'delete'. Did you mean 'belfry blackout remove'?"],
  ['signing-secret delete 1', "Unknown command 'delete'. Did you mean 'belfry signing-secret revoke'?"],
  ['backfill hello', "Unknown command 'backfill'. Did you mean 'belfry task backfill'?"],
  ['preview', "Unknown command 'preview'. Did you mean 'belfry schedule preview'?"],
  ['task pasue hello', "Unknown command 'pasue'. Did you mean 'pause'?"],
  ['task constructor', "Unknown command 'constructor'."],
])('the error for %s suggests a command if one fits', (line, answer) => {
  expect(answerTo(line)).toBe(answer)
})
