import type { Command } from 'commander'
import { addClientFlags } from '../client/output.ts'
import { addProgramFlags, RARE_PROGRAM_FLAGS } from '../client/task-flags.ts'

const HELP = `
Repeating the command changes nothing; a different schedule, flag or file content changes the
task. A program that the project already has is not uploaded again.

${RARE_PROGRAM_FLAGS}

Examples:
  belfry run-on-schedule backup.sh --cron '0 3 * * *' --env TARGET=/mnt/backup
  belfry run-on-schedule ./report --daily 06:00 --arg --all --network --timeout 1h
  belfry run-on-schedule cleanup.py --every 30m --name cleanup --label host=web1
`

/** Command that uploads a program and creates a task for it in one step. */
export function runOnScheduleCommand(program: Command): void {
  const command = program
    .command('run-on-schedule')
    .description('Upload a program and run it on a schedule')
    .argument('<path>', 'The program: a script with an interpreter line, or a static binary')
    .option('--name <name>', 'Name of the task (default: the name of the file)')
  addProgramFlags(command)
  addClientFlags(command)
    .addHelpText('after', HELP)
    .action(async (path, flags) =>
      (await import('../handlers/run-on-schedule.ts')).runOnSchedule(path, flags),
    )
}
