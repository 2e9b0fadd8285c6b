import { copyFileSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { Logger } from '../../../telemetry/logger.ts'
import { type Certificate, readCertificate } from './certificate.ts'
import { CertificateWatch } from './certificate-watch.ts'

const FIXTURES = fileURLToPath(new URL('../../../../test/support/certificates/', import.meta.url))

/** Two files as a program that renews certificates replaces them. */
function files() {
  const directory = mkdtempSync(join(tmpdir(), 'belfry-tls-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const certFile = join(directory, 'tls.crt')
  const keyFile = join(directory, 'tls.key')
  const put = (fixture: string, path: string) => {
    copyFileSync(join(FIXTURES, fixture), `${path}.new`)
    renameSync(`${path}.new`, path)
  }
  put('first.pem', certFile)
  put('first-key.pem', keyFile)
  return { certFile, keyFile, put }
}

async function watch(given: { certFile: string; keyFile: string }, now?: () => number) {
  const shown: Certificate[] = []
  const log = { warn: vi.fn(), info: vi.fn() }
  const watching = new CertificateWatch({
    files: given,
    certificate: await readCertificate(given),
    server: { show: (certificate) => shown.push(certificate) },
    log: log as unknown as Logger,
    ...(now ? { now } : {}),
  })
  return { watching, shown, log }
}

test('a certificate and key replaced one after the other are used once they match, without a warning', async () => {
  const { certFile, keyFile, put } = files()
  const { watching, shown, log } = await watch({ certFile, keyFile })

  await watching.runOnce()
  put('second.pem', certFile)
  await watching.runOnce()
  put('second-key.pem', keyFile)
  await watching.runOnce()
  await watching.runOnce()

  expect(shown).toEqual([await readCertificate({ certFile, keyFile })])
  expect(shown[0]?.names).toBe('localhost, 127.0.0.1')
  expect(log.warn).not.toHaveBeenCalled()
})

test.each([
  ['a key of another certificate', 'second-key.pem', /does not belong to the certificate/],
  ['a file that holds no key', null, /contains no private key in PEM form/],
])('%s is not used and is logged once', async (_, fixture, problem) => {
  const { certFile, keyFile, put } = files()
  const { watching, shown, log } = await watch({ certFile, keyFile })

  if (fixture === null) writeFileSync(keyFile, 'nonsense')
  else put(fixture, keyFile)
  for (let look = 0; look < 4; look++) await watching.runOnce()

  expect(shown).toEqual([])
  expect(log.warn.mock.calls).toEqual([[expect.stringMatching(problem)]])
})

test('a certificate that is about to expire is mentioned once a day', async () => {
  const given = files()
  const { expiresAt } = await readCertificate(given)
  let now = expiresAt - 86_400_000
  const { watching, log } = await watch(given, () => now)

  await watching.runOnce()
  await watching.runOnce()
  now += 86_400_000
  await watching.runOnce()

  expect(log.warn.mock.calls.map(([, text]) => text)).toEqual([
    'the TLS certificate expires soon',
    'the TLS certificate has expired',
  ])
})

test.each([
  ['is not there', { certFile: '/nowhere.pem' }, /certificate \/nowhere\.pem cannot be read: ENOENT/],
  ['is no certificate', { certFile: join(FIXTURES, 'first-key.pem') }, /contains no certificate in PEM form/],
])('a certificate that %s is refused with the reason', async (_, other, reason) => {
  await expect(readCertificate({ ...files(), ...other })).rejects.toThrow(reason)
})
