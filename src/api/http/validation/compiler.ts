import type { FastifySchemaCompiler } from 'fastify'
import { z } from 'zod'
import { invalidInput } from '../../../core/errors.ts'
import { parse } from '../../../operations/validation/parse.ts'
import type { RequestPart } from '../../../operations/validation/place.ts'

/** Called by Fastify for each part of a request that has a schema. */
export const validatorCompiler: FastifySchemaCompiler<z.ZodType> = ({ schema, httpPart }) => {
  const part = (httpPart ?? 'body') as RequestPart
  return (data: unknown) => {
    const parsed = parse(schema, data, part)
    return parsed.ok ? { value: parsed.value } : { error: invalidInput(parsed.problems) }
  }
}

/**
 * Checks only that the body contains such a list; its items are parsed and validated later, one by one. Fastify's types require
 * a compiler for all schemas of a route, but Fastify calls it for each part.
 */
export function ofTheList(member: string, maxItems: number): never {
  const schema = z.strictObject({ [member]: z.array(z.unknown()).min(1).max(maxItems) })
  const compiler: typeof validatorCompiler = (part) =>
    validatorCompiler(part.httpPart === 'body' ? { ...part, schema } : part)
  return compiler as never
}
