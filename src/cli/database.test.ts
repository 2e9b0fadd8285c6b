import { expect, test } from 'vitest'
import { shownPath, shownUrl } from './database.ts'

test.each([
  ['postgresql://u:secret@db.example.com:5433/belfry?sslmode=require', 'db.example.com:5433/belfry'],
  ['postgresql://u:secret@/belfry?host=%2Frun%2Fpostgresql&port=5432', '/run/postgresql/belfry'],
  ['postgres://db.example.com/belfry', 'db.example.com/belfry'],
  ['postgresql:///belfry', 'localhost/belfry'],
  ['postgresql://u:sec/ret?@db.example.com/belfry', 'db.example.com/belfry'],
  ['postgresql://u:sec@ret@[::1]:5432/belfry', '[::1]:5432/belfry'],
])('%s is shown as %s', (url, shown) => {
  expect(shownUrl(url)).toBe(shown)
})

test.each([
  ['/home/ada/.local/share/belfry', '/home/ada', '~/.local/share/belfry'],
  ['/home/adam/data', '/home/ada', '/home/adam/data'],
  ['/home/ada', '/home/ada', '/home/ada'],
  ['/home/ada/..data', '/home/ada', '~/..data'],
  ['/var/lib/belfry', '', '/var/lib/belfry'],
])('%s in the home directory %j is shown as %s', (path, home, shown) => {
  expect(shownPath(path, home)).toBe(shown)
})
