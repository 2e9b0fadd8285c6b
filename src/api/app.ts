/** The HTTP application: routes, validation, documentation and the guards in front of them. */

import type { IncomingMessage, ServerResponse } from 'node:http'
import fastifySwagger from '@fastify/swagger'
import fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  LogController,
  type RawServerDefault,
} from 'fastify'
import {
  jsonSchemaTransform,
  jsonSchemaTransformObject,
  validatorCompiler,
  type ZodTypeProvider,
} from 'fastify-type-provider-zod'
import { uuidv7 } from '../core/ids.ts'
import type { Logger } from '../runtime/logger.ts'
import { documentation } from './documentation.ts'
import { handleErrors } from './errors.ts'
import { guardHost, guardText } from './guards.ts'
import type { Context } from './operations/context.ts'
import { compatibleTaskRoutes } from './routes/compatible-tasks.ts'
import { healthRoutes } from './routes/health.ts'
import { runRoutes } from './routes/runs.ts'
import { scheduleRoutes } from './routes/schedules.ts'
import { taskRoutes } from './routes/tasks.ts'

export type App = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  ZodTypeProvider
>

export interface AppOptions {
  readonly context: Context
  readonly log: Logger
  readonly version: string
  /** Answer only to requests for a loopback name: the server is open to this machine alone. */
  readonly loopbackOnly: boolean
}

const BODY_LIMIT = 1024 * 1024
const REQUEST_TIMEOUT_MS = 30_000

export async function createApp({ context, log, version, loopbackOnly }: AppOptions): Promise<App> {
  const app = fastify({
    loggerInstance: log as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: BODY_LIMIT,
    requestTimeout: REQUEST_TIMEOUT_MS,
    routerOptions: { maxParamLength: 1_000 },
    genReqId: () => uuidv7(),
    forceCloseConnections: 'idle',
  }).withTypeProvider<ZodTypeProvider>()
  app.setValidatorCompiler(validatorCompiler)
  // Answers are built by us from typed rows; checking each against its schema again would only cost time.
  app.setSerializerCompiler(() => JSON.stringify)
  handleErrors(app as unknown as FastifyInstance)
  if (loopbackOnly) guardHost(app)
  guardText(app)
  app.addHook('onSend', async (request, reply) => {
    reply.header('x-request-id', request.id)
    reply.header('x-content-type-options', 'nosniff')
  })

  await app.register(fastifySwagger, {
    openapi: documentation(version),
    transform: jsonSchemaTransform,
    transformObject: jsonSchemaTransformObject,
  })
  taskRoutes(app, context)
  runRoutes(app, context)
  scheduleRoutes(app, context)
  healthRoutes(app, context)
  compatibleTaskRoutes(app, context)
  app.get('/openapi.json', { schema: { hide: true } }, async () => app.swagger())
  const { default: reference } = await import('@scalar/fastify-api-reference')
  await app.register(reference, {
    routePrefix: '/docs',
    configuration: { url: '/openapi.json', withDefaultFonts: false },
  })
  await app.ready()
  return app
}
