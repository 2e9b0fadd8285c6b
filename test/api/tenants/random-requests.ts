/**
 * Requests about the things of another project, and the same requests about things that do not exist. Whoever sends them
 * must not be able to tell which is which, by status, by headers or by body, and both must leave the same behind.
 */
import type { Database } from '../../../src/store/database/database.ts'
import { createTestApp, type InjectedAnswer } from '../test-app.ts'
import { type Asked, type Question, questionsAbout } from './questions.ts'
import { differenceOf, tableCounter } from './stored.ts'
import { makerFor, makeThings, UUID, unknownLike } from './things.ts'

/** A request that was answered differently. */
export interface Difference {
  readonly foreign: Asked
  readonly answers: readonly [foreign: string, unknown: string]
}

/** What came of many requests. */
export interface Comparison {
  readonly differences: readonly Difference[]
  /** Routes of which every request was refused because of its form, so nothing was looked up. */
  readonly unreached: readonly string[]
}

/** Somebody who asks: in a project, with a key and with the token of a worker. */
interface Caller {
  readonly project: string
  readonly key: Record<string, string>
  readonly worker: Record<string, string>
}

export async function prepareTenants(db: Database) {
  const { app, send } = await createTestApp({ db })
  const admin = await keyFor(send, { role: 'admin' }, {})
  const ask = makerFor(send, admin)
  for (const name of ['theirs', 'ours']) await ask('POST', '/v1/projects', { name })
  const theirs = { ...admin, 'belfry-project': 'theirs' }
  const things = await makeThings(db, send, theirs)
  const own = await makeThings(db, send, { ...admin, 'belfry-project': 'ours' })
  const { body: document } = await send('GET', '/openapi.json')
  const { questions, uncovered, stale } = questionsAbout(app.accessTable, document, {
    id: own.id[0] ?? '',
    name: 'queue-ours',
  })
  const routes = [...new Set(questions.map(({ route }) => route))]
  const questionsOf = new Map(routes.map((one) => [one, questions.filter(({ route }) => route === one)]))
  const countRows = await tableCounter(db)

  async function callerIn(project: string): Promise<Caller> {
    const key = await keyFor(send, { role: 'admin', project }, admin)
    const { token } = await makerFor(send, key)('POST', '/v1/worker/register', { handlers: ['x'] })
    return { project, key, worker: { authorization: `Bearer ${token}` } }
  }
  const caller = await callerIn('ours')

  let projects = 0
  async function newCaller(): Promise<Caller> {
    const project = `ours-${++projects}`
    await ask('POST', '/v1/projects', { name: project })
    return callerIn(project)
  }

  /** Two projects in which the same has been made: in one with names of others, in the other with names that nobody had. */
  const newMakers = async () => ({
    callers: [await newCaller(), await newCaller()] as const,
    names: new Map<string, string>(),
    uses: 0,
  })
  let makers = await newMakers()
  async function makersOf(question: Question, thing: string) {
    if (makers.uses++ === MAX_USES) {
      makers = await newMakers()
      await madeSince()
    }
    const unknown = makers.names.get(thing) ?? unknownLike(question.kind, thing)
    makers.names.set(thing, unknown)
    return { callers: makers.callers, unknown }
  }

  /** Sends so many pairs of requests. */
  async function compare(count: number, random: () => number): Promise<Comparison> {
    const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T
    const differences: Difference[] = []
    const unreached = new Set(routes)
    for (let n = 0; n < count; n++) {
      const question = pick(questionsOf.get(pick(routes)) ?? [])
      const thing = pick(things[question.kind])
      const { callers, unknown } = question.isMaking
        ? await makersOf(question, thing)
        : { callers: [caller, caller] as const, unknown: unknownLike(question.kind, thing) }
      const [first, second] = callers
      const answers = [await outcomeOf(question, thing, first), await outcomeOf(question, unknown, second)]
      const [foreign = '', stranger = ''] = answers.map(({ shape }) => shape)
      if (foreign !== stranger)
        differences.push({ foreign: question.about(thing), answers: [foreign, stranger] })
      if (answers.every(({ status }) => ![400, 415, 422].includes(status))) unreached.delete(question.route)
    }
    return { differences, unreached: [...unreached] }
  }

  /** How many rows there are in which table; also what a request that only reads has added shows, at the next one that does not. */
  let rows = await countRows()
  async function madeSince(): Promise<string> {
    const before = rows
    rows = await countRows()
    return differenceOf(before, rows)
  }

  async function outcomeOf({ about, by }: Question, thing: string, { project, ...caller }: Caller) {
    const { method, path, body, headers } = about(thing)
    const isReading = method === 'GET' || method === 'HEAD'
    const answer = await send(method, path, body, { ...caller[by], ...headers })
    const made = isReading ? '' : await madeSince()
    return { status: answer.status, shape: `${shapeOf(answer, thing, project)} ${made}` }
  }

  /** What can be seen of an answer, without what differs between any two. */
  function shapeOf({ status, headers, text }: InjectedAnswer, thing: string, project: string): string {
    const told = Object.entries(headers).filter(([name]) => !VARYING.has(name))
    // What follows on a stream may come with the first event or later; test/api/tenants.test.ts looks at it.
    const hello = /^event: hello\n.*\n.*\n\n/m.exec(text)
    const shown = hello ? text.slice(0, hello.index + hello[0].length) : text
    const shape = `${JSON.stringify(told)} ${shown}`
      .replace(/"instance":"[^"]*",?/, '')
      .replaceAll(thing, 'THING')
      .replaceAll(encodeURIComponent(thing), 'THING')
      .replaceAll(`"${project}"`, '"PROJECT"')
      .replace(UUID, (id) => (things.id.includes(id) ? 'OF THEIRS' : 'ID'))
      .replace(/\d{4}-\d\d-\d\dT[\d:.]+(Z|\+00:00)/g, 'INSTANT')
      .replace(/^id: \S+$|"position":"[^"]*"/gm, 'POSITION')
      .replace(CREDENTIALS, 'CREDENTIAL')
      .replaceAll('THING', 'ID')
    return `${status} ${shape}`
  }

  return { compare, uncovered, stale, things, send, admin, ours: caller.key, theirs, app }
}

/** After so many requests that may make something, new projects begin. */
const MAX_USES = 50

/** Headers that differ between any two answers. */
const VARYING: ReadonlySet<string> = new Set(['date', 'x-request-id', 'content-length'])

/** Tokens of workers and in signed addresses, keys with their hints, and signing secrets: random in every answer. */
const CREDENTIALS = /"token":"[^"]*"|[?]token=[\w.-]+|\bbf_\w+|\bwhsec_[\w+/=]+/g

type Send = Awaited<ReturnType<typeof createTestApp>>['send']

async function keyFor(send: Send, fields: object, headers: Record<string, string>) {
  const { key } = await makerFor(send, headers)('POST', '/v1/keys', { name: 'test', ...fields })
  return { authorization: `Bearer ${key}` }
}

/** Numbers that follow from a seed alone. */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
