import { EventEmitter } from 'node:events'
import { expect, test } from 'vitest'
import { limitStreams, MAX_STREAMS_OF_PROJECT } from './stream-limit.ts'

type Enter = (request: unknown, reply: unknown) => Promise<void>

/** Opens streams on one node. */
function aNode(maxPerCaller: number) {
  const route = { config: { lasting: 'stream' }, preHandler: [] as Enter[] }
  const app = { addHook: (_: string, onRoute: (added: typeof route) => void) => onRoute(route) }
  limitStreams(app as never, maxPerCaller)
  return async (keyId: string, projectId: string) => {
    const raw = Object.assign(new EventEmitter(), { destroyed: false })
    const context = { actor: { kind: 'key', id: keyId }, projectId }
    await route.preHandler[0]?.({ context, routeOptions: { config: route.config } }, { raw })
    return () => raw.emit('close')
  }
}

test('the keys of a project share its streams, and other projects have their own', async () => {
  const open = aNode(100)
  const closes = await Promise.all(
    Array.from({ length: MAX_STREAMS_OF_PROJECT }, (_, i) => open(`key ${i % 3}`, 'a')),
  )

  await expect(open('another key', 'a')).rejects.toMatchObject({
    code: 'stream_limit',
    message: expect.stringContaining('The project has 250 open streams'),
  })
  await open('another key', 'b')
  closes[0]?.()
  await open('another key', 'a')
})

test('a caller with too many streams takes none from its project', async () => {
  const open = aNode(1)
  await open('one', 'a')

  for (let i = 0; i < MAX_STREAMS_OF_PROJECT; i++)
    await expect(open('one', 'a')).rejects.toMatchObject({ message: expect.stringContaining('You have 1') })

  await open('two', 'a')
})
