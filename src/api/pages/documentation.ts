/** The OpenAPI document: what it says besides the routes, and the last touches once they are in it. */
import { STATUS_CODES } from 'node:http'
import { jsonSchemaTransformObject } from 'fastify-type-provider-zod'
import type { OpenAPIV3_1 } from 'openapi-types'

export function documentation(version: string) {
  return {
    openapi: '3.1.0' as const,
    info: {
      title: 'Belfry',
      version,
      description:
        'A task scheduler. Instants are RFC 3339 in UTC, durations are text such as `30s` or `1h30m`, lists come in pages with `nextCursor`. ' +
        'Errors are problem documents (RFC 9457) with a stable `code`.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    security: [],
    components: {
      securitySchemes: {
        workerToken: {
          type: 'http' as const,
          scheme: 'bearer',
          description: 'What `POST /v1/worker/register` answers with.',
        },
      },
    },
    tags: [
      { name: 'tasks', description: 'What to do and when.' },
      { name: 'runs', description: 'What became of it.' },
      { name: 'backfills', description: 'Making up for what is past.' },
      { name: 'events', description: 'Being told what became of it.' },
      { name: 'dead letters', description: 'What failed for good.' },
      { name: 'queues', description: 'Where runs wait for a worker.' },
      { name: 'blackouts', description: 'Windows in which nothing starts by time.' },
      { name: 'signing secrets', description: 'What outgoing requests are signed with.' },
      { name: 'overview', description: 'Is everything on time?' },
      { name: 'projects', description: 'Limits and senders that apply to all tasks of a project.' },
      { name: 'cluster', description: 'Who does the work.' },
      {
        name: 'workers',
        description: 'For workers of your own: claiming runs of handlers and reporting on them.',
      },
      { name: 'schedules', description: 'Looking ahead.' },
      { name: 'health', description: 'For probes and load balancers.' },
      { name: 'compatibility', description: 'The `/tasks` interface, and jobs as four calls.' },
    ],
  }
}

type TransformObject = typeof jsonSchemaTransformObject

/** Adds the named schemas, drops those that nothing refers to, and names the plain answers. */
export const finishDocument: TransformObject = (input) => {
  const document = jsonSchemaTransformObject(input) as OpenAPIV3_1.Document
  for (const operation of operationsOf(document)) {
    nameAnswers(operation)
    allowNoBody(operation)
  }
  dropNaturalBounds(document)
  const used = reachable(document)
  const schemas = Object.entries(document.components?.schemas ?? {}).filter(([name]) => used.has(name))
  return {
    ...document,
    components: { ...document.components, schemas: Object.fromEntries(schemas) },
  } as ReturnType<TransformObject>
}

function operationsOf({ paths }: OpenAPIV3_1.Document): OpenAPIV3_1.OperationObject[] {
  const operations = Object.values(paths ?? {}).flatMap((path) => Object.values(path ?? {}))
  return operations as OpenAPIV3_1.OperationObject[]
}

/** Fastify describes every answer as "Default Response". */
function nameAnswers({ responses }: OpenAPIV3_1.OperationObject): void {
  for (const [status, answer] of Object.entries(responses ?? {})) {
    const { description } = answer as OpenAPIV3_1.ResponseObject
    if (description === 'Default Response')
      Object.assign(answer, { description: STATUS_CODES[status] ?? status })
  }
}

/** A body that may be null may be left out. */
function allowNoBody({ requestBody }: OpenAPIV3_1.OperationObject): void {
  const body = requestBody as OpenAPIV3_1.RequestBodyObject | undefined
  const schema = body?.content['application/json']?.schema as OpenAPIV3_1.SchemaObject | undefined
  if (body && schema?.anyOf?.some((variant) => (variant as OpenAPIV3_1.SchemaObject).type === 'null'))
    body.required = false
}

/** Every whole number lies between the largest ones that JavaScript has; saying so helps nobody. */
function dropNaturalBounds(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  const schema = value as { minimum?: unknown; maximum?: unknown }
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum
  for (const member of Object.values(value)) dropNaturalBounds(member)
}

const REFERENCE = '#/components/schemas/'

/** Names of the schemas that the operations lead to, directly or through one another. */
function reachable({ paths, components }: OpenAPIV3_1.Document): Set<string> {
  const found = new Set<string>()
  const pending: unknown[] = [paths]
  while (pending.length > 0) {
    const value = pending.pop()
    if (typeof value !== 'object' || value === null) continue
    const { $ref } = value as { $ref?: unknown }
    const name =
      typeof $ref === 'string' && $ref.startsWith(REFERENCE) ? $ref.slice(REFERENCE.length) : undefined
    if (name !== undefined && !found.has(name)) {
      found.add(name)
      pending.push(components?.schemas?.[name])
    }
    pending.push(...Object.values(value))
  }
  return found
}
