import { expect, test } from 'vitest'
import { read, SOURCES } from './tree.ts'

const EXPORTED = /^export (?:default )?(?:abstract )?(interface|class) (?!\w+Options\b)(\w+)/

/**
 * Exported interfaces and classes without a comment above them. A class may have it at the top of its file, and
 * options are told by what takes them.
 */
function uncommented(path: string): string[] {
  const lines = read(path).split('\n')
  const opensWithComment = lines[0]?.startsWith('/**') ?? false
  return lines.flatMap((line, i) => {
    const [, kind, name] = EXPORTED.exec(line) ?? []
    if (kind === undefined || lines[i - 1]?.trimEnd().endsWith('*/')) return []
    return kind === 'class' && opensWithComment ? [] : `${path}: ${kind} ${name}`
  })
}

test('every exported interface and class has a comment', () => {
  expect(SOURCES.flatMap(uncommented)).toEqual([])
})
