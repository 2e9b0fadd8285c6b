import { expect, test } from 'vitest'
import { hasOtherSources } from './other-sources.ts'

test.each([
  ['', false],
  ['hosts: files dns', false],
  ['passwd: files ldap\nhosts:\tfiles mdns4_minimal [NOTFOUND=return] dns # ldap', false],
  ['hosts: files myhostname dns', false],
  ['hosts: files resolve [!UNAVAIL=return] dns', true],
  ['# hosts: files dns\nhosts: files ldap dns', true],
  ['hosts: files mdns dns', true],
])('%j names sources that may know any host: %s', (nsswitch, expected) => {
  expect(hasOtherSources(nsswitch)).toBe(expected)
})
