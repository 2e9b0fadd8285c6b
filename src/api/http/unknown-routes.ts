/** Handles requests that match no route: an unknown path, or a known one with another method. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Refusal } from '../../core/errors.ts'
import type { App } from '../app.ts'
import type { DashboardFiles } from '../pages/dashboard-files.ts'
import { pageInstead } from '../pages/dashboard-routes.ts'
import { pathOf, refuse } from './errors.ts'

interface KnownRoute {
  readonly pattern: RegExp
  readonly methods: readonly string[]
}

/** Must be called before the routes are registered, because it records each of them. */
export function handleUnknownRoutes(app: App, dashboard: DashboardFiles | null): void {
  const routes: KnownRoute[] = []
  app.addHook('onRoute', ({ url, method }) => {
    routes.push({ pattern: patternOf(url), methods: [method].flat() })
  })
  app.setNotFoundHandler((request, reply) => {
    const allowed = allowedAt(routes, pathOf(request))
    return (allowed.length === 0 && pageInstead(request, reply, dashboard)) || answer(request, reply, allowed)
  })
}

function answer(request: FastifyRequest, reply: FastifyReply, allowed: readonly string[]): FastifyReply {
  const { method } = request
  const path = pathOf(request)
  if (allowed.length === 0) {
    return refuse(new Refusal('not_found', unknownRoute(path)), request, reply)
  }
  reply.header('allow', [...allowed, 'OPTIONS'].join(', '))
  if (method === 'OPTIONS') return reply.code(204).send()
  const detail = `${path} does not support ${method}. Supported methods: ${allowed.join(', ')}.`
  return refuse(new Refusal('method_not_allowed', detail), request, reply)
}

/** Paths of 0.1.0 that were renamed. */
const RENAMED: ReadonlyMap<string, string> = new Map([
  ['/v1/audit', '/v1/findings'],
  ['/v1/project', '/v1/projects/default'],
])

function unknownRoute(path: string): string {
  const renamed = RENAMED.get(path)
  const advice = renamed === undefined ? 'See /docs for the API reference.' : `Use ${renamed} instead.`
  return `The path ${path} does not exist. ${advice}`
}

function allowedAt(routes: readonly KnownRoute[], path: string): string[] {
  const methods = routes.filter(({ pattern }) => pattern.test(path)).flatMap((route) => route.methods)
  return [...new Set(methods)].sort()
}

/** Returns a path such as `/v1/tasks/:id` as a pattern. */
function patternOf(url: string): RegExp {
  const steps = url.split('/').map((step) => {
    if (step.startsWith(':')) return '[^/]+'
    if (step === '*') return '.*'
    return step.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  })
  return new RegExp(`^${steps.join('/')}$`)
}
