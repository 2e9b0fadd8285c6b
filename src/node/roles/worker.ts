/** The worker role: performing runs, and delivering events to subscriptions. */
import { smtpTargetOf } from '../../core/action/call-target.ts'
import { parseSmtpUrl } from '../../core/action/smtp-url.ts'
import { Deliverer } from '../../events/subscriptions/deliverer.ts'
import { TargetBook } from '../../outgoing/targets/target-book.ts'
import { Programs } from '../../programs/programs.ts'
import type { Config } from '../../runtime/config/settings.ts'
import { mailSettingsOf } from '../../store/projects/projects.ts'
import { PostgresTransport } from '../../transport/postgres/postgres-transport.ts'
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
  const { id, config, connections, wakeUps, definitions, clock, log, signer } = foundations
  const { userAgent, http, projectSettings, files, vault } = foundations
  const { engine, delivery } = connections
  const mail = mailOf(config)
  const mailTarget = mail && smtpTargetOf(mail.server)
  const programs = new Programs({
    config,
    isLoopback: isLoopback(config.host),
    reachesPrivate: reachesPrivate(config),
    log,
  })
  const executors = createExecutors({
    exec: createExecExecutor({ db: engine, runner: () => programs.runner }),
    // As many connections per target as calls, which are limited elsewhere.
    http: { ...http, connectionsPerOrigin: files.maxCalls, idleConnections: files.idleConnections },
    userAgent,
    signer,
    mail,
    projectMail: {
      settingsOf: async (projectId) => (await engine.run(mailSettingsOf(projectId)))[0],
      vault,
    },
  })
  const executor = withSecrets(executors, vault)
  const book: TargetBook = new TargetBook({
    nodes: () => targets.workers,
    onOpen: (line) => worker.opened(line),
  })
  const targets = new TargetExchange({ nodeId: id, db: engine, book, wakeUps, clock, log })
  const worker: Worker = new Worker({
    nodeId: id,
    db: engine,
    transport: new PostgresTransport(engine),
    wakeUps,
    definitions,
    executor,
    clock,
    log,
    logs: foundations.logs,
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
  vault.onChange(() => worker.labelsChanged())
  programs.onChange(
    () =>
      void vault
        .offer(programs.labels)
        .catch((error: unknown) => log.error({ err: error }, 'cannot store the labels of this node')),
  )
  const deliverer = new Deliverer({
    db: delivery,
    clock,
    log,
    userAgent,
    keys: signer,
    canSign: () => vault.canSign,
    http,
    leaseMs: foundations.subscriptionLeaseMs,
  })
  return { programs, worker, targets, deliverer }
}

/** Returns the mail settings, which were validated when they were read. */
function mailOf({ smtpUrl, smtpFrom }: Config): MailOptions | null {
  const parsed = smtpUrl === null ? null : parseSmtpUrl(smtpUrl)
  return parsed?.ok ? { server: parsed.server, from: smtpFrom } : null
}
