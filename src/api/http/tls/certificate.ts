/** The certificate of a server and its private key, read from two files. */
import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createSecureContext } from 'node:tls'

/** The paths of the files, in PEM format; the first may also contain the certificates of intermediate authorities. */
export interface CertificateFiles {
  readonly certFile: string
  readonly keyFile: string
}

/** A certificate and the matching private key. */
export interface Certificate {
  readonly cert: Buffer
  readonly key: Buffer
  /** The names and addresses that it is valid for, as it lists them. */
  readonly names: string
  /** When it expires, in epoch milliseconds. */
  readonly expiresAt: number
}

/** Older protocols are broken, and no client that can reach Belfry needs them. */
const MIN_TLS_VERSION = 'TLSv1.2'

/** Returns the TLS options of a server. */
export const secureOptions = ({ cert, key }: Pick<Certificate, 'cert' | 'key'>) =>
  ({ cert, key, minVersion: MIN_TLS_VERSION }) as const

/** The files cannot be used; the message says which one, and why. */
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

/** Explains an error, because OpenSSL's messages are hard to understand. */
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
