/**
 * Serialises responses as JSON. Responses are built from typed rows; validating each against its schema again would only cost
 * time. A list may have many megabytes: its items are serialised one by one, yielding to other work of the process.
 */
import { mapInTurns } from '../../runtime/turns.ts'
import type { App } from '../app.ts'

/** A response that is text already. */
class Written {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

export function serializeAnswers(app: App): void {
  app.setSerializerCompiler(
    () => (payload) => (payload instanceof Written ? payload.text : JSON.stringify(payload)),
  )
  app.addHook('preSerialization', (_request, _reply, payload, done) => {
    if (!isList(payload)) done(null, payload)
    else void writeList(payload).then((written) => done(null, written), done)
  })
}

/** A response with a list, which is serialised item by item. */
interface ListAnswer {
  readonly items: readonly unknown[]
}

function isList(payload: unknown): payload is ListAnswer {
  return typeof payload === 'object' && payload !== null && 'items' in payload && Array.isArray(payload.items)
}

async function writeList({ items, ...others }: ListAnswer): Promise<Written> {
  const texts = await mapInTurns(items, (item) => JSON.stringify(item))
  const rest = JSON.stringify(others).slice(1, -1)
  return new Written(`{"items":[${texts.join(',')}]${rest === '' ? '' : ','}${rest}}`)
}
