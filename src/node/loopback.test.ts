import { expect, test } from 'vitest'
import { isForThisMachine } from './loopback.ts'

const at = (host: string, publicUrl: string | null = null, trustedProxies: readonly string[] = []) =>
  isForThisMachine({ host, publicUrl, trustedProxies })

test('a loopback address serves this machine only, unless a setting names a proxy', () => {
  expect([at('127.0.0.1'), at('::1'), at('localhost')]).toEqual([true, true, true])
  expect([at('0.0.0.0'), at('192.0.2.1'), at('belfry.example.com')]).toEqual([false, false, false])
  expect(at('127.0.0.1', 'https://belfry.example.com')).toBe(false)
  expect(at('127.0.0.1', null, ['127.0.0.1/32'])).toBe(false)
  expect([at('127.0.0.1', 'http://localhost:8080'), at('::1', 'http://[::1]:1')]).toEqual([true, true])
})
