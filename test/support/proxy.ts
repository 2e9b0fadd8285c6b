import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { Transform } from 'node:stream'
import { whenDone } from './cleanup.ts'

export interface Proxy {
  /** The database's address, through the proxy. */
  readonly url: string
  /** Breaks every connection and lets no new one through until `mend`. */
  cut(): void
  mend(): void
  /** Sends bytes to every client, as if they came from the database. */
  say(bytes: Buffer): void
  /**
   * Loses the answers to the next statements that match: the database executes each of them, and the client loses its
   * connection instead of getting the answer.
   */
  loseAnswers(count: number, to: RegExp): void
  /** Delays everything that is sent to the database by this long. */
  slow(ms: number): void
  /** How many answers were lost so far. */
  readonly lostAnswers: number
}

/** With this message of its protocol PostgreSQL ends every answer outside a transaction: it is ready for the next statement. */
const READY_FOR_QUERY = Buffer.from([0x5a, 0, 0, 0, 5, 0x49])

/** Starts a proxy to the database whose connections can be cut. */
export async function startProxy(databaseUrl: string): Promise<Proxy> {
  const target = targetOf(databaseUrl)
  const sockets = new Set<Socket>()
  const clients = new Set<Socket>()
  let isCut = false
  let toLose = { count: 0, to: /^/ }
  let lostAnswers = 0
  let slowMs = 0
  const server = createServer((client) => {
    if (isCut) return client.destroy()
    const upstream = connect(target)
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        clients.delete(client)
        client.destroy()
        upstream.destroy()
      })
    }
    clients.add(client)
    let isLost = false
    client.on('data', (asked: Buffer) => {
      if (isLost || toLose.count === 0 || !toLose.to.test(asked.toString('latin1'))) return
      toLose = { ...toLose, count: toLose.count - 1 }
      isLost = true
    })
    const answers = new Transform({
      transform: (answer: Buffer, _, done) => {
        if (!isLost) return done(null, answer)
        // Only now has the statement been executed and committed.
        if (answer.subarray(-READY_FOR_QUERY.length).equals(READY_FOR_QUERY)) {
          lostAnswers++
          client.destroy()
        }
        return done()
      },
    })
    const way = new Transform({
      transform: (asked: Buffer, _, done) => {
        if (slowMs === 0) done(null, asked)
        else setTimeout(() => done(null, asked), slowMs)
      },
    })
    client.pipe(way).pipe(upstream).pipe(answers).pipe(client)
    return client
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const destroyAll = () => {
    for (const socket of sockets) socket.destroy()
  }
  whenDone(() => {
    server.close()
    destroyAll()
  })
  const url = new URL(withHost(databaseUrl))
  url.hostname = '127.0.0.1'
  url.port = String((server.address() as AddressInfo).port)
  url.search = ''
  return {
    url: url.href,
    cut: () => {
      isCut = true
      destroyAll()
    },
    mend: () => {
      isCut = false
    },
    say: (bytes) => {
      for (const client of clients) client.write(bytes)
    },
    loseAnswers: (count, to) => {
      toLose = { count, to }
    },
    slow: (ms) => {
      slowMs = ms
    },
    get lostAnswers() {
      return lostAnswers
    },
  }
}

/** Addresses of unix sockets have no host, which a URL needs. */
const withHost = (url: string) => url.replace('@/', '@localhost/')

function targetOf(databaseUrl: string): { path: string } | { host: string; port: number } {
  const { hostname, port, searchParams } = new URL(withHost(databaseUrl))
  const directory = searchParams.get('host')
  if (directory?.startsWith('/'))
    return { path: `${directory}/.s.PGSQL.${searchParams.get('port') ?? '5432'}` }
  return { host: hostname, port: Number(port || '5432') }
}
