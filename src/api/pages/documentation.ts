/** The OpenAPI document: its general parts, and the changes made once all routes are in it. */

import { STATUS_CODES } from 'node:http'
import { jsonSchemaTransform, jsonSchemaTransformObject } from 'fastify-type-provider-zod'
import type { OpenAPIV3_1 } from 'openapi-types'
import { neededRole } from '../../core/access/role.ts'
import { MAX_REASON_CHARACTERS, REASON_HEADER } from '../../core/audit-log/reason.ts'

export function documentation(version: string) {
  return {
    openapi: '3.1.0' as const,
    info: {
      title: 'Belfry',
      version,
      description:
        'A task scheduler. Timestamps are RFC 3339 in UTC, durations are strings such as `30s` or `1h30m`, lists are paginated with `nextCursor`. ' +
        'Errors are problem documents (RFC 9457) with a stable `code`.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    security: [],
    components: {
      securitySchemes: {
        apiKey: {
          type: 'http' as const,
          scheme: 'bearer',
          description: 'API key. Not required on a server that listens on loopback and has no keys yet.',
        },
        workerToken: {
          type: 'http' as const,
          scheme: 'bearer',
          description: 'Token returned by `POST /v1/worker/register`.',
        },
      },
    },
    tags: [
      { name: 'tasks', description: 'Actions with a schedule and policies.' },
      { name: 'runs', description: 'Executions of tasks and their results.' },
      { name: 'backfills', description: 'Running tasks for past occurrences.' },
      { name: 'events', description: 'Notifications about runs that end, as a stream or as webhooks.' },
      { name: 'dead letters', description: 'Runs that failed permanently.' },
      { name: 'queues', description: 'Named groups of runs that wait for a worker.' },
      { name: 'targets', description: 'Servers that calls go to: limits, rates, pauses and circuits.' },
      { name: 'blackouts', description: 'Windows in which no schedule fires.' },
      { name: 'secrets', description: 'Named values that tasks refer to. Responses never contain them.' },
      { name: 'signing secrets', description: 'Secrets that sign outgoing requests.' },
      { name: 'files', description: 'Programs and other content that tasks use.' },
      { name: 'overview', description: 'State of the whole system.' },
      { name: 'audit log', description: 'Who changed what.' },
      { name: 'projects', description: 'Limits and senders that apply to all tasks of a project.' },
      { name: 'keys', description: 'API keys and their roles.' },
      { name: 'members', description: 'People and groups who can sign in, and their roles.' },
      { name: 'sign-in', description: 'Sessions at the dashboard.' },
      { name: 'cluster', description: 'Nodes, workers and shards.' },
      {
        name: 'workers',
        description: 'For your own workers: claiming runs of handlers and reporting their results.',
      },
      { name: 'schedules', description: 'Previews of schedules.' },
      { name: 'health', description: 'For probes and load balancers.' },
      {
        name: 'compatibility',
        description:
          'Interfaces of other schedulers: `/tasks`, jobs as four calls, and programs with `task/create`.',
      },
    ],
  }
}

/** Describes a route: its security, and the role that it requires. */
export const describeRoute: typeof jsonSchemaTransform = (input) => {
  const { schema, url } = jsonSchemaTransform(input)
  const { access } = input.route.config ?? {}
  if (access === undefined || access === 'public') return { schema, url }
  const credential = access === 'token' ? 'workerToken' : 'apiKey'
  const needs = access === 'token' || access === 'self' ? '' : `Requires the role ${neededRole(access)}.`
  const description = [schema?.['description'], needs].filter(Boolean).join('\n\n')
  const described = { ...schema, security: [{ [credential]: [] }], 'x-belfry-access': access }
  return { schema: description === '' ? described : { ...described, description }, url }
}

type TransformObject = typeof jsonSchemaTransformObject

/** Adds the named schemas, removes unreferenced ones, and describes responses without a description. */
export const finishDocument: TransformObject = (input) => {
  const document = jsonSchemaTransformObject(input) as OpenAPIV3_1.Document
  for (const operation of operationsOf(document)) {
    nameAnswers(operation)
    allowNoBody(operation)
  }
  offerReasons(document)
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

/** Every request that makes a change may give a reason. */
function offerReasons({ paths }: OpenAPIV3_1.Document): void {
  for (const path of Object.values(paths ?? {}))
    for (const [method, operation] of Object.entries(path ?? {}) as [string, OpenAPIV3_1.OperationObject][])
      if (method !== 'get') operation.parameters = [...(operation.parameters ?? []), REASON]
}

const REASON: OpenAPIV3_1.ParameterObject = {
  name: REASON_HEADER,
  in: 'header',
  required: false,
  description: 'Reason for the change, kept in the audit log. UTF-8.',
  schema: { type: 'string', maxLength: MAX_REASON_CHARACTERS },
}

/** Removes the bounds of JavaScript's safe integers, which every integer has and which are of no use to readers. */
function dropNaturalBounds(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  const schema = value as { minimum?: unknown; maximum?: unknown }
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum
  for (const member of Object.values(value)) dropNaturalBounds(member)
}

const REFERENCE = '#/components/schemas/'

/** Returns the names of the schemas that operations refer to, directly or indirectly. */
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
