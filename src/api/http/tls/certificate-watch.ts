import { DAY_MS } from '../../../core/values/time-units.ts'
import { LoopService } from '../../../runtime/loop-service.ts'
import type { Logger } from '../../../telemetry/logger.ts'
import { type Certificate, type CertificateFiles, readCertificate } from './certificate.ts'

/** How often the files are read. A file watcher would miss files that are replaced behind a symbolic link. */
const EVERY_MS = 2_000
/** Certificates that are renewed automatically have been renewed by then. */
const SOON_MS = 7 * DAY_MS

export interface CertificateWatchOptions {
  readonly files: CertificateFiles
  /** The certificate that the server was started with. */
  readonly certificate: Certificate
  /** Uses another certificate for new connections. */
  readonly server: { show(certificate: Certificate): void }
  readonly log: Logger
  /** This machine's clock, by which the validity of certificates is checked. */
  readonly now?: () => number
}

/**
 * Uses the certificate that is currently in the files for new connections; open connections keep theirs. If the files cannot be
 * used, the server keeps the last matching pair. The two files are replaced one after the other, so a pair that does not match
 * is reported only if it is unchanged at the next check.
 */
export class CertificateWatch extends LoopService {
  readonly #options: CertificateWatchOptions
  readonly #now: () => number
  #shown: Certificate
  #problem: string | null = null
  #isReported = false
  #remindedAt = Number.NEGATIVE_INFINITY

  constructor(options: CertificateWatchOptions) {
    super({ name: 'certificate watch', everyMs: EVERY_MS, log: options.log })
    this.#options = options
    this.#now = options.now ?? Date.now
    this.#shown = options.certificate
  }

  async runOnce(): Promise<undefined> {
    const { files } = this.#options
    const read = await readCertificate(files).catch((error: Error) => error)
    if (read instanceof Error) this.#doubt(read.message)
    else this.#show(read)
    this.#remind()
  }

  #show(read: Certificate): void {
    const { server, log } = this.#options
    this.#problem = null
    if (read.cert.equals(this.#shown.cert) && read.key.equals(this.#shown.key)) return
    server.show(read)
    this.#shown = read
    this.#remindedAt = Number.NEGATIVE_INFINITY
    log.info({ names: read.names, expiresAt: new Date(read.expiresAt) }, 'certificate replaced')
  }

  #doubt(problem: string): void {
    const isSame = problem === this.#problem
    if (!isSame) this.#isReported = false
    this.#problem = problem
    if (!isSame || this.#isReported) return
    this.#isReported = true
    this.#options.log.warn(`${problem} The server continues to use the current certificate.`)
  }

  #remind(): void {
    const now = this.#now()
    const { expiresAt, names } = this.#shown
    if (expiresAt - now > SOON_MS || now - this.#remindedAt < DAY_MS) return
    this.#remindedAt = now
    const state = expiresAt <= now ? 'has expired' : 'expires soon'
    this.#options.log.warn({ names, expiresAt: new Date(expiresAt) }, `the TLS certificate ${state}`)
  }
}
