/** The worker role: performing runs, and delivering events to subscriptions. */
import { smtpTargetOf } from '../../core/action/call-target.ts'
import { parseSmtpUrl } from '../../core/action/smtp-url.ts'
import { Deliverer } from '../../events/subscriptions/deliverer.ts'
import { TargetBook } from '../../outgoing/targets/target-book.ts'
import { Programs } from '../../programs/programs.ts'
import type { Config } from '../../runtime/config/settings.ts'
import { mailSettingsOf } from '../../store/projects/projects.ts'
import { PostgresTransport } from '../../transport/postgres/postgres-transport.ts'
import type { Executor } from '../../worker/executor.ts'
import { createExecExecutor } from '../../worker/executors/exec.ts'
import { createExecutors, type MailOptions } from '../../worker/executors/executors.ts'
import { withSecrets } from '../../worker/executors/with-secrets.ts'
import { TargetExchange } from '../../worker/target-exchange.ts'
import { Worker } from '../../worker/worker.ts'
import { type Foundations, reachesPrivate } from '../foundations.ts'
import { isLoopback } from '../loopback.ts'

/** The services of the role. The scheduler and the heartbeat of the node also use the worker. */
export interface WorkerRole {
  readonly programs: Programs
  readonly worker: Worker
  readonly targets: TargetExchange
  readonly deliverer: Deliverer
}

export function workerRole(foundations: Foundations): WorkerRole {
  const { config, log, vault } = foundations
  const programs = new Programs({
    config,
    isLoopback: isLoopback(config.host),
    reachesPrivate: reachesPrivate(config),
    log,
  })
  const { worker, targets } = workerOf(foundations, programs)
  vault.onChange(() => worker.labelsChanged())
  programs.onChange(
    () =>
      void vault
        .offer(programs.labels)
        .catch((error: unknown) => log.error({ err: error }, 'cannot store the labels of this node')),
  )
  return { programs, worker, targets, deliverer: delivererOf(foundations) }
}

/** The worker, and its exchange with other nodes about the targets it calls. */
function workerOf(foundations: Foundations, programs: Programs): Pick<WorkerRole, 'worker' | 'targets'> {
  const { id, config, connections, wakeUps, definitions, clock, log, logs } = foundations
  const { projectSettings, files, vault } = foundations
  const { engine: db } = connections
  const mail = mailOf(config)
  const mailTarget = mail && smtpTargetOf(mail.server)
  const book: TargetBook = new TargetBook({
    nodes: () => targets.workers,
    onOpen: (line) => worker.opened(line),
  })
  const targets = new TargetExchange({ nodeId: id, db, book, wakeUps, clock, log })
  const worker: Worker = new Worker({
    nodeId: id,
    db,
    transport: new PostgresTransport(db),
    wakeUps,
    definitions,
    executor: executorOf(foundations, programs, mail),
    clock,
    log,
    logs,
    concurrency: config.concurrency,
    programs: programs.concurrency,
    maxCalls: files.maxCalls,
    targets: book,
    smtpTargetOf: (projectId) => projectSettings.mailTargetOf(projectId) ?? mailTarget,
    labels: () => (vault.canPerform ? vault.labels : null),
    claimEveryMs: config.claimEveryMs,
    claimAhead: config.claimAhead,
    cancelEveryMs: config.cancelEveryMs,
    graceMs: config.shutdownGraceMs,
  })
  return { worker, targets }
}

/** Performs every action; secrets are filled in first. */
function executorOf(
  { connections, http, files, userAgent, signer, vault }: Foundations,
  programs: Programs,
  mail: MailOptions | null,
): Executor {
  const { engine: db } = connections
  const executors = createExecutors({
    exec: createExecExecutor({ db, runner: () => programs.runner }),
    // As many connections per target as calls, which are limited elsewhere.
    http: { ...http, connectionsPerOrigin: files.maxCalls, idleConnections: files.idleConnections },
    userAgent,
    signer,
    mail,
    projectMail: {
      settingsOf: async (projectId) => (await db.run(mailSettingsOf(projectId)))[0],
      vault,
    },
  })
  return withSecrets(executors, vault)
}

const delivererOf = ({ connections, clock, log, userAgent, signer, vault, http, ...rest }: Foundations) =>
  new Deliverer({
    db: connections.delivery,
    clock,
    log,
    userAgent,
    keys: signer,
    canSign: () => vault.canSign,
    http,
    leaseMs: rest.subscriptionLeaseMs,
  })

/** Returns the mail settings, which were validated when they were read. */
function mailOf({ smtpUrl, smtpFrom }: Config): MailOptions | null {
  const parsed = smtpUrl === null ? null : parseSmtpUrl(smtpUrl)
  return parsed?.ok ? { server: parsed.server, from: smtpFrom } : null
}
