import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { whenDone } from './cleanup.ts'

export interface Proxy {
  /** The database's address, through the proxy. */
  readonly url: string
  /** Breaks every connection and lets no new one through until `mend`. */
  cut(): void
  mend(): void
  /** Sends bytes to every client, as if the database had. */
  say(bytes: Buffer): void
}

/** A wire to the database that can be cut. */
export async function startProxy(databaseUrl: string): Promise<Proxy> {
  const target = targetOf(databaseUrl)
  const sockets = new Set<Socket>()
  const clients = new Set<Socket>()
  let isCut = false
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
    client.pipe(upstream).pipe(client)
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
