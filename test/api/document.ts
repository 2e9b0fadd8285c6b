/** The OpenAPI document as tests use it: its operations, and whether an answer is one that it promises. */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import type { InjectedAnswer } from './test-app.ts'

export type Schema = Readonly<Record<string, unknown>>

export interface Operation {
  readonly operationId: string
  readonly method: string
  readonly path: string
  readonly summary: string
  readonly tags: readonly string[]
  readonly security?: unknown
  readonly parameters: readonly { name: string; in: string; required?: boolean; schema: Schema }[]
  readonly requestBody?: { required?: boolean; content: Record<string, { schema: Schema }> }
  readonly responses: Readonly<
    Record<string, { description: string; content?: Record<string, { schema: Schema }> }>
  >
}

export interface Document {
  readonly openapi: string
  readonly security: unknown
  readonly tags: readonly { name: string }[]
  readonly paths: Readonly<Record<string, Record<string, Omit<Operation, 'method' | 'path'>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

export function operationsOf({ paths }: Document): Operation[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      ...operation,
      parameters: operation.parameters ?? [],
      method: method.toUpperCase(),
      path,
    })),
  )
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
const INSTANT = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/

/** Says what is wrong with an answer: not promised, of another type, or of another shape. */
export function answerChecker(
  document: Document,
): (operation: Operation, answer: InjectedAnswer) => string[] {
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  ajv.addFormat('uuid', UUID)
  ajv.addFormat('date-time', INSTANT)
  ajv.addFormat('uri', (text: string) => URL.canParse(text))
  ajv.addSchema(document as unknown as Record<string, unknown>, 'openapi')
  const compiled = new Map<string, ValidateFunction>()

  return ({ operationId, responses }, { status, headers, text, body }) => {
    const promised = responses[String(status)]
    if (promised === undefined) return [`${operationId} does not promise ${status}: ${text.slice(0, 500)}`]
    if (promised.content === undefined) return text === '' ? [] : [`${operationId} ${status} has a body`]
    const type = String(headers['content-type']).split(';')[0] ?? ''
    const media = promised.content[type]
    if (media === undefined) return [`${operationId} ${status} is ${type}`]
    const name = `${operationId} ${status}`
    const validate = compiled.get(name) ?? ajv.compile(absolute(media.schema) as Schema)
    compiled.set(name, validate)
    if (validate(body)) return []
    return [`${name}: ${ajv.errorsText(validate.errors)} in ${text.slice(0, 1_000)}`]
  }
}

/** The same schema with references that lead into the document from anywhere. */
function absolute(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(absolute)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) =>
      key === '$ref' && typeof member === 'string' ? [key, `openapi${member}`] : [key, absolute(member)],
    ),
  )
}
