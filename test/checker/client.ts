/**
 * A client that records its requests and their answers. Creates are sent with an idempotency key and repeated until they are
 * answered, at whatever address the service has by then.
 */
import { type Answer, request } from '../support/request.ts'
import type { ClientRequest, TaskBody } from './evidence.ts'

export interface Wanted {
  /** The idempotency key, one for each wanted task. */
  readonly key: string
  readonly body: TaskBody & Readonly<Record<string, unknown>>
}

export interface Accepted {
  readonly key: string
  readonly id: string
}

const AT_ONCE = 20
const RETRY_MS = 25
const MAX_TRIES = 4_000

const PATHS = {
  trigger: 'trigger',
  cancel_task: 'cancel',
  pause: 'pause',
  resume: 'resume',
} as const

export class Client {
  readonly requests: ClientRequest[] = []
  readonly accepted: Accepted[] = []
  url: string

  constructor(url: string) {
    this.url = url
  }

  /** Requests that were answered with 5xx or not at all. */
  get unanswered(): number {
    return this.requests.filter(({ status }) => status === null || status >= 500).length
  }

  idOf(key: string): string {
    const found = this.accepted.find((accepted) => accepted.key === key)
    if (!found) throw new Error(`no task was accepted with the key ${key}`)
    return found.id
  }

  /** Ids of accepted tasks whose keys begin so. */
  idsOf(prefix: string): string[] {
    return this.accepted.filter(({ key }) => key.startsWith(prefix)).map(({ id }) => id)
  }

  /** Creates all of them, some at a time; resolves when the last one was accepted. */
  async create(wanted: readonly Wanted[]): Promise<void> {
    const queue = [...wanted]
    const work = async () => {
      for (let next = queue.shift(); next; next = queue.shift()) await this.#createOne(next)
    }
    await Promise.all(Array.from({ length: AT_ONCE }, work))
  }

  /** Creates all of them with one request. */
  async createTogether(wanted: readonly Wanted[]): Promise<void> {
    const askedAt = Date.now()
    const tasks = wanted.map(({ body }) => body)
    const answer = expectAnswer(await request(this.url, 'POST', '/v1/tasks/bulk', { tasks }), 'bulk')
    for (const [i, { key, body }] of wanted.entries()) {
      const { id, createdAt } = answer.body.items[i]
      this.accepted.push({ key, id })
      this.requests.push({
        ...{ verb: 'create', askedAt, answeredAt: Date.now(), status: answer.status, body, runId: null },
        ...{ taskId: id, createdAt: Date.parse(createdAt), idempotencyKey: null },
      })
    }
  }

  /** Sends once more what was accepted already. */
  async repeat({ key, body }: Wanted): Promise<void> {
    await this.#send({ verb: 'create', idempotencyKey: key, body }, 'POST', '/v1/tasks', body)
  }

  /** Sends the request until it is answered; repeating it changes nothing. */
  async change(verb: keyof typeof PATHS | 'delete_task', taskId: string): Promise<void> {
    const idempotencyKey = verb === 'trigger' ? `trigger-${taskId}` : null
    const [method, path] =
      verb === 'delete_task'
        ? ['DELETE', `/v1/tasks/${taskId}`]
        : ['POST', `/v1/tasks/${taskId}/${PATHS[verb]}`]
    await this.#insist(verb, () => this.#send({ verb, taskId, idempotencyKey }, method, path))
  }

  /** Asks for a run, once; the answer may be that another one is in the way. */
  async trigger(taskId: string, key: string): Promise<void> {
    await this.#send({ verb: 'trigger', taskId, idempotencyKey: key }, 'POST', `/v1/tasks/${taskId}/trigger`)
  }

  /** Says how many runs of a queue may be in progress at once. */
  async limitQueue(name: string, limit: number): Promise<void> {
    const body = { concurrencyLimit: limit }
    await this.#insist(`limit of ${name}`, () =>
      this.#send({ verb: 'limit_queue', queue: { name, limit } }, 'PATCH', `/v1/queues/${name}`, body),
    )
  }

  /** Requests the cancellation of a run; the answer may be that the run has ended. */
  async cancelRun(taskId: string, runId: string): Promise<void> {
    await this.#send({ verb: 'cancel_run', taskId, runId }, 'POST', `/v1/runs/${runId}/cancel`)
  }

  async #createOne({ key, body }: Wanted): Promise<void> {
    const answer = await this.#insist(key, () =>
      this.#send({ verb: 'create', idempotencyKey: key, body }, 'POST', '/v1/tasks', body),
    )
    this.accepted.push({ key, id: answer.body.id })
  }

  /** Tries again while the answer is 5xx or none; anything but 2xx then is an error. */
  async #insist(what: string, send: () => Promise<Answer | null>): Promise<Answer> {
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const answer = await send()
      if (answer !== null && answer.status < 500) return expectAnswer(answer, what)
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
    }
    throw new Error(`${what} was never answered`)
  }

  async #send(
    about: Pick<ClientRequest, 'verb'> & Partial<ClientRequest>,
    method: string,
    path: string,
    body?: unknown,
  ): Promise<Answer | null> {
    const askedAt = Date.now()
    const key = about.idempotencyKey ?? null
    const headers = key === null ? {} : { 'idempotency-key': key }
    const answer = await request(this.url, method, path, body, headers).catch(() => null)
    const isOk = answer !== null && answer.status < 300
    this.requests.push({
      taskId: isOk && about.verb === 'create' ? answer.body.id : null,
      runId: isOk && about.verb === 'trigger' ? answer.body.id : null,
      createdAt: isOk && about.verb === 'create' ? Date.parse(answer.body.createdAt) : null,
      body: null,
      ...about,
      idempotencyKey: key,
      askedAt,
      answeredAt: answer === null ? null : Date.now(),
      status: answer?.status ?? null,
    })
    return answer
  }
}

function expectAnswer(answer: Answer | null, verb: string): Answer {
  if (answer === null || answer.status >= 300)
    throw new Error(`${verb} was answered with ${answer?.status}: ${JSON.stringify(answer?.body)}`)
  return answer
}
