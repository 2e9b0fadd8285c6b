import type { Command } from 'commander'
import { addClientFlags, addYesFlag } from '../client/output.ts'

const HELP = `
Examples:
  belfry import crontab ~/crontab.txt --dry-run
  crontab -l | belfry import crontab - --label host=web1 --yes
`

const CRONTAB_HELP = `
Shows how each line is interpreted, and asks for confirmation before creating tasks. Each job
becomes a task that runs /bin/sh -c COMMAND (or the SHELL of the crontab) on a worker whose operator
allows that shell. It behaves as under cron: no retries, runs may overlap, missed occurrences are
skipped. Importing the same crontab again changes nothing; a changed line changes its task.

cron continues to run these lines until you remove them. To avoid running jobs twice, import with
--paused, disable the crontab, then resume the tasks.

Examples:
  belfry import crontab /etc/crontab --dry-run
  crontab -l | belfry import crontab - --label host=web1 --paused --yes
  ssh web2 crontab -l | belfry import crontab - --prefix web2 --label host=web2 --timezone UTC --yes
`

/** Commands that import jobs from other schedulers. */
export function importCommand(program: Command): void {
  const group = program
    .command('import')
    .usage('<command> [options]')
    .description('Create tasks from a crontab')
    .helpOption('-h, --help', 'Show help')
    .addHelpText('after', HELP)
  const crontab = group
    .command('crontab')
    .description('Create a task for each job of a crontab')
    .argument('<file>', 'A crontab; - reads standard input')
    .option('--system', 'The sixth field is a user, as in /etc/crontab (default: detected)')
    .option('--no-system', 'The sixth field belongs to the command')
    .option('--timezone <zone>', "Time zone of lines without CRON_TZ (default: this machine's)")
    .option('--prefix <name>', 'Prefix of the keys of the tasks (default: the name of this machine)')
    .option('--label <label>', 'Label that a worker must have; repeatable', collect)
    .option('--retries <n>', 'Maximum number of retries (default: 0)')
    .option('--timeout <time>', 'Timeout of each run (default: 1d)')
    .option('--paused', 'Create the tasks paused')
    .option('--skip-invalid', 'Import the other lines if some are invalid')
    .option('--dry-run', 'Only show what would be created')
  addClientFlags(addYesFlag(crontab))
    .addHelpText('after', CRONTAB_HELP)
    .action(async (file, flags) => (await import('../handlers/import-crontab.ts')).importCrontab(file, flags))
}

const collect = (value: string, before: readonly string[] = []) => [...before, value]
