/**
 * Answers as JSON text. They are built by us from typed rows; checking each against its schema again would only cost time. A
 * list may come to many megabytes: its items are written one by one, in turns with everything else that the process does.
 */
import { mapInTurns } from '../../runtime/turns.ts'
import type { App } from '../app.ts'

/** An answer that is text already. */
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

/** An answer with a list that is worth taking apart. */
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
