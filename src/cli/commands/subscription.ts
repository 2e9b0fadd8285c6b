import type { Command } from 'commander'
import { addClientFlags, addYesFlag } from '../client/output.ts'

const HELP = `
Examples:
  belfry subscription create https://example.com/events --state permanently_failed
  belfry subscription list
  belfry subscription test alerts
  belfry subscription remove alerts
`

const CREATE_HELP = `
Each run that ends and is wanted is sent as a signed POST, at least once. Without filters that is every run. The
secret that signs is made by the server and shown once.

Examples:
  belfry subscription create https://example.com/events --name alerts --state permanently_failed
  belfry subscription create https://example.com/all --tag nightly --batch-size 50
`

const RESUME_HELP = `
Examples:
  belfry subscription resume alerts
  belfry subscription resume alerts --after 2026-11-16T09:00:00Z
`

const TEST_HELP = `
The event has the type belfry.test and is signed like every other. It is sent once, also to one that is failing or
disabled, and nothing else changes. It ends with 1 when the receiver does not take it.

Examples:
  belfry subscription test alerts
`

const REMOVE_HELP = `
What has not been sent by then is never sent. The secret is gone as well.

Examples:
  belfry subscription remove alerts
  belfry subscription remove alerts --yes
`

const SUBSCRIPTION = 'Its id, the first 8 characters of it, or its name where only one has it'

/** Commands for subscriptions: who is told what becomes of runs. */
export function subscriptionCommand(program: Command): void {
  const group = program
    .command('subscription')
    .alias('subscriptions')
    .usage('<command> [options]')
    .description('Tell addresses what becomes of runs: list, create, test, resume, remove')
    .helpOption('-h, --help', 'Show help; also after a command')
    .addHelpText('after', HELP)
  addClientFlags(
    group
      .command('list')
      .alias('ls')
      .description('List subscriptions, with what they fail of')
      .option('--limit <n>', 'At most so many', '50'),
  ).action(async (flags) => (await import('../handlers/subscriptions.ts')).listSubscriptions(flags))
  const create = group
    .command('create')
    .description('Tell an address what becomes of runs')
    .argument('<url>', 'Where to send it')
    .option('--name <name>', 'What to call it')
    .option('--state <state>', 'completed, permanently_failed, cancelled or skipped; repeatable', collect)
    .option('--task <task>', 'Of this task: its id, its key, or its name; repeatable', collect)
    .option('--tag <tag>', 'Of tasks with this tag; repeatable', collect)
    .option('--type <action>', 'Of tasks with such an action; repeatable', collect)
    .option('--queue <name>', 'Of tasks in this queue; repeatable', collect)
    .option('--owner <who>', 'Of tasks of this owner; repeatable', collect)
    .option('--batch-size <n>', 'Up to so many in one POST, as an array (default: 1)')
    .option('--give-up-after <time>', 'Disable it when it has failed for so long (default: 1d)')
    .option('--after <where>', 'Begin behind an event, or at an instant (default: now)')
  addClientFlags(create)
    .addHelpText('after', CREATE_HELP)
    .action(async (url, flags) =>
      (await import('../handlers/subscriptions.ts')).createSubscription(url, flags),
    )
  addClientFlags(
    group
      .command('resume')
      .description('Go on with one that was disabled, where it stopped')
      .argument('<subscription>', SUBSCRIPTION)
      .option('--after <where>', 'Behind an event, or at an instant, instead'),
  )
    .addHelpText('after', RESUME_HELP)
    .action(async (ref, flags) =>
      (await import('../handlers/subscriptions.ts')).resumeSubscription(ref, flags),
    )
  addClientFlags(
    group
      .command('test')
      .description('Send it one test event now, and show what the receiver says')
      .argument('<subscription>', SUBSCRIPTION),
  )
    .addHelpText('after', TEST_HELP)
    .action(async (ref, flags) => (await import('../handlers/subscriptions.ts')).testSubscription(ref, flags))
  const remove = group
    .command('remove')
    .alias('rm')
    .description('Send nothing more')
    .argument('<subscription>', SUBSCRIPTION)
  addClientFlags(addYesFlag(remove))
    .addHelpText('after', REMOVE_HELP)
    .action(async (ref, flags) =>
      (await import('../handlers/subscriptions.ts')).removeSubscription(ref, flags),
    )
}

const collect = (value: string, before: readonly string[] = []) => [...before, value]
