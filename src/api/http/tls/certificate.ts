/** The certificate that a server shows, and the key that belongs to it, as they stand in two files. */
import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createSecureContext } from 'node:tls'

/** Where they are, in PEM form; the first may hold the certificates of intermediate authorities as well. */
export interface CertificateFiles {
  readonly certFile: string
  readonly keyFile: string
}

/** A pair that fits together. */
export interface Certificate {
  readonly cert: Buffer
  readonly key: Buffer
  /** Names and addresses that it is for, as it lists them. */
  readonly names: string
  /** When it is no longer valid, in milliseconds since 1970. */
  readonly expiresAt: number
}

/** Older protocols are broken, and no client that can reach Belfry needs them. */
const MIN_TLS_VERSION = 'TLSv1.2'

/** What a server is given. */
export const secureOptions = ({ cert, key }: Pick<Certificate, 'cert' | 'key'>) =>
  ({ cert, key, minVersion: MIN_TLS_VERSION }) as const

/** Files that no server can use; the message says which, and why. */
export class CertificateError extends Error {
  override readonly name = 'CertificateError'
}

export async function readCertificate({ certFile, keyFile }: CertificateFiles): Promise<Certificate> {
  const cert = await contentOf(certFile, 'certificate')
  const key = await contentOf(keyFile, 'private key')
  const { subjectAltName = '', subject, validTo } = parse(cert, certFile)
  try {
    createSecureContext(secureOptions({ cert, key }))
  } catch (error) {
    throw new CertificateError(reasonOf(error, { certFile, keyFile }))
  }
  const names = subjectAltName === '' ? subject : subjectAltName.replaceAll(/\b(DNS|IP Address):/g, '')
  return { cert, key, names, expiresAt: Date.parse(validTo) }
}

async function contentOf(path: string, what: string): Promise<Buffer> {
  try {
    return await readFile(path)
  } catch (error) {
    throw new CertificateError(`The ${what} ${path} cannot be read: ${(error as Error).message}.`)
  }
}

function parse(cert: Buffer, path: string): X509Certificate {
  try {
    return new X509Certificate(cert)
  } catch {
    throw new CertificateError(`The file ${path} contains no certificate in PEM form.`)
  }
}

/** OpenSSL's own words are for those who know its source. */
function reasonOf(error: unknown, { certFile, keyFile }: CertificateFiles): string {
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'ERR_OSSL_X509_KEY_VALUES_MISMATCH' || code === 'ERR_OSSL_X509_KEY_TYPE_MISMATCH')
    return `The private key ${keyFile} does not belong to the certificate ${certFile}.`
  if (/PASSWORD|BAD_DECRYPT|INTERRUPTED/i.test(`${code} ${message}`))
    return `The private key ${keyFile} is encrypted; Belfry needs it without a passphrase.`
  if (/NO_START_LINE|UNSUPPORTED/.test(`${code}`))
    return `The file ${keyFile} contains no private key in PEM form.`
  return `The certificate ${certFile} and the private key ${keyFile} cannot be used: ${message}.`
}
