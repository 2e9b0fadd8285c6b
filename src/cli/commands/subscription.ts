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
Each run that ends and matches the filters is sent as a signed POST, at least once. Without
filters, every run matches. The server creates the signing secret and shows it once.

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
Sends one signed event of the type belfry.test, even if the subscription is failing or disabled.
The state of the subscription does not change. Exits with 1 if the receiver does not accept the
event.

Examples:
  belfry subscription test alerts
`

const REMOVE_HELP = `
Events that have not been delivered are discarded, and the signing secret is deleted.

Examples:
  belfry subscription remove alerts
  belfry subscription remove alerts --yes
`

const SUBSCRIPTION = 'Id (or at least its first 8 characters), or unique name'

/** Commands for subscriptions, which send events about runs to webhooks. */
export function subscriptionCommand(program: Command): void {
  const group = program
    .command('subscription')
    .alias('subscriptions')
    .usage('<command> [options]')
    .description('Send webhooks when runs end')
    .helpOption('-h, --help', 'Show help')
    .addHelpText('after', HELP)
  addClientFlags(
    group
      .command('list')
      .alias('ls')
      .description('List subscriptions and their last errors')
      .option('--limit <n>', 'Maximum number of results', '50'),
  ).action(async (flags) => (await import('../handlers/subscriptions.ts')).listSubscriptions(flags))
  const create = group
    .command('create')
    .description('Send a webhook to a URL when runs end')
    .argument('<url>', 'URL that receives the events')
    .option('--name <name>', 'Name of the subscription')
    .option('--event <about>', 'Type of events: runs (default), circuits or audit-log; repeatable', collect)
    .option(
      '--state <state>',
      'Only this state: completed, permanently_failed, cancelled or skipped; repeatable',
      collect,
    )
    .option('--task <task>', 'Only runs of this task: id, key or name; repeatable', collect)
    .option('--tag <tag>', 'Only tasks with this tag; repeatable', collect)
    .option('--type <action>', 'Only tasks with this type of action; repeatable', collect)
    .option('--queue <name>', 'Only tasks in this queue; repeatable', collect)
    .option('--owner <who>', 'Only tasks of this owner; repeatable', collect)
    .option('--action <action>', 'Only this kind of change in the audit log; repeatable', collect)
    .option('--batch-size <n>', 'Maximum number of events per POST, sent as an array (default: 1)')
    .option('--give-up-after <time>', 'Disable the subscription after failing for this long (default: 1d)')
    .option('--after <where>', 'Start after an event id, or at a timestamp (default: now)')
  addClientFlags(create)
    .addHelpText('after', CREATE_HELP)
    .action(async (url, flags) =>
      (await import('../handlers/subscriptions.ts')).createSubscription(url, flags),
    )
  addClientFlags(
    group
      .command('resume')
      .description('Resume a disabled subscription where it stopped')
      .argument('<subscription>', SUBSCRIPTION)
      .option('--after <where>', 'Resume after an event id, or at a timestamp, instead'),
  )
    .addHelpText('after', RESUME_HELP)
    .action(async (ref, flags) =>
      (await import('../handlers/subscriptions.ts')).resumeSubscription(ref, flags),
    )
  addClientFlags(
    group
      .command('test')
      .description('Send one test event and show the response of the receiver')
      .argument('<subscription>', SUBSCRIPTION),
  )
    .addHelpText('after', TEST_HELP)
    .action(async (ref, flags) => (await import('../handlers/subscriptions.ts')).testSubscription(ref, flags))
  const remove = group
    .command('remove')
    .alias('rm')
    .description('Delete a subscription')
    .argument('<subscription>', SUBSCRIPTION)
  addClientFlags(addYesFlag(remove))
    .addHelpText('after', REMOVE_HELP)
    .action(async (ref, flags) =>
      (await import('../handlers/subscriptions.ts')).removeSubscription(ref, flags),
    )
}

const collect = (value: string, before: readonly string[] = []) => [...before, value]
