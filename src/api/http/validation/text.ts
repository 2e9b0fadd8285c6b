import type { Problem } from '../../../core/errors.ts'
import { invalidInput } from '../../../core/errors.ts'
import { placeIn, type RequestPart } from '../../../operations/validation/place.ts'
import type { App } from '../../app.ts'

/**
 * PostgreSQL stores neither NUL nor unpaired surrogates, so paths and queries that contain one are rejected. Bodies are scanned
 * before they are parsed.
 */
export function guardText(app: App): void {
  app.addHook('preValidation', async ({ params, query }) => {
    const problem = firstBadText('params', params) ?? firstBadText('querystring', query)
    if (problem) throw invalidInput([problem])
  })
}

function firstBadText(part: RequestPart, values: unknown): Problem | undefined {
  for (const [name, value] of Object.entries(values ?? {}))
    if (!isStorable(name) || ![value].flat().every((text) => isStorable(String(text))))
      return {
        pointer: placeIn(part, isStorable(name) ? [name] : []),
        detail: 'contains a NUL character or an unpaired surrogate, which cannot be stored',
      }
  return undefined
}

const LONE_SURROGATE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/

function isStorable(text: string): boolean {
  return !text.includes('\0') && !LONE_SURROGATE.test(text)
}
