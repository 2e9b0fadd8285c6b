import { LoopService } from '../../../runtime/loop-service.ts'
import type { Logger } from '../../../telemetry/logger.ts'
import { type Certificate, type CertificateFiles, readCertificate } from './certificate.ts'

/** Files are read this often. Watching them would miss those that are replaced behind a symbolic link. */
const EVERY_MS = 2_000
const DAY_MS = 86_400_000
/** Whoever renews certificates by a program has done so by now. */
const SOON_MS = 7 * DAY_MS

export interface CertificateWatchOptions {
  readonly files: CertificateFiles
  /** What the server was started with. */
  readonly certificate: Certificate
  /** Shows new connections another one. */
  readonly server: { show(certificate: Certificate): void }
  readonly log: Logger
  /** This machine's time: certificates are valid by it. */
  readonly now?: () => number
}

/**
 * Shows new connections the certificate that is in the files now; connections that are open keep theirs. What cannot be
 * used is not: the server goes on with the last pair that fitted. The two files are replaced one after the other, so a
 * pair that does not fit is reported only if it is still the same at the next look.
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
