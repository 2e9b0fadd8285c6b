/** A name server on loopback, over UDP and TCP, that answers as a test says. */
import { createSocket, type Socket as UdpSocket } from 'node:dgram'
import { once } from 'node:events'
import { type AddressInfo, createServer, isIPv4 } from 'node:net'
import { onTestFinished } from 'vitest'

export interface Question {
  readonly name: string
  readonly type: 'A' | 'AAAA'
  readonly transport: 'udp' | 'tcp'
}

/** The answer to a question; undefined sends none. Of the addresses, those of the requested family are sent. */
export type Reply =
  | { readonly addresses: readonly string[]; readonly ttl?: number; readonly isTruncated?: boolean }
  | { readonly code: 'NXDOMAIN' | 'SERVFAIL' | 'REFUSED' }
  | { readonly bytes: Buffer }
  | undefined

export interface NameServer {
  /** As the resolver takes it: address and port. */
  readonly server: string
  /** All questions received, in order. */
  readonly questions: readonly Question[]
}

const TYPES: Readonly<Record<number, Question['type']>> = { 1: 'A', 28: 'AAAA' }
const CODES = { SERVFAIL: 2, NXDOMAIN: 3, REFUSED: 5 } as const
const AUTHORITATIVE_ANSWER = 0x8580
const TRUNCATED = 0x0200

export async function aNameServer(reply: (question: Question) => Reply): Promise<NameServer> {
  const questions: Question[] = []
  const answerTo = (query: Buffer, transport: Question['transport']): Buffer | undefined => {
    const { end, name, type } = readQuestion(query)
    const question: Question = { name, type: TYPES[type] ?? 'A', transport }
    questions.push(question)
    const answer = reply(question)
    return answer && encode(query.subarray(0, end), answer, question.type)
  }
  const { udp, port } = await listen((query) => answerTo(query, 'tcp'))
  udp.on('message', (query, from) => {
    const answer = answerTo(query, 'udp')
    if (answer) udp.send(answer, from.port, from.address)
  })
  return { server: `127.0.0.1:${port}`, questions }
}

/** Listens on one port for both; if the port that TCP got is taken for UDP, it tries another. */
async function listen(
  onTcp: (query: Buffer) => Buffer | undefined,
): Promise<{ udp: UdpSocket; port: number }> {
  for (;;) {
    const tcp = createServer((socket) => {
      socket.on('error', () => {})
      socket.on('data', (data) => {
        for (const query of framesOf(data)) {
          const answer = onTcp(query)
          if (answer) socket.write(framed(answer))
        }
      })
    }).listen(0, '127.0.0.1')
    await once(tcp, 'listening')
    const { port } = tcp.address() as AddressInfo
    const udp = createSocket('udp4')
    const isBound = await new Promise<boolean>((resolve) => {
      udp.once('error', () => resolve(false))
      udp.bind(port, '127.0.0.1', () => resolve(true))
    })
    if (!isBound) {
      tcp.close()
      continue
    }
    onTestFinished(() => {
      udp.close()
      tcp.close()
    })
    return { udp, port }
  }
}

/** Questions are small and loopback does not split them. */
function* framesOf(data: Buffer): Generator<Buffer> {
  for (let at = 0; at < data.length; at += 2 + data.readUInt16BE(at)) {
    yield data.subarray(at + 2, at + 2 + data.readUInt16BE(at))
  }
}

const framed = (answer: Buffer) =>
  Buffer.concat([Buffer.from([answer.length >> 8, answer.length & 0xff]), answer])

function readQuestion(query: Buffer) {
  const labels: string[] = []
  let at = 12
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += length + 1
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 }
}

function encode(question: Buffer, reply: NonNullable<Reply>, type: Question['type']): Buffer {
  if ('bytes' in reply) return reply.bytes
  const found = 'addresses' in reply ? reply.addresses.filter((each) => isIPv4(each) === (type === 'A')) : []
  const isTruncated = 'addresses' in reply && reply.isTruncated === true
  const ttl = 'addresses' in reply ? (reply.ttl ?? 60) : 0
  const head = Buffer.alloc(12)
  question.copy(head, 0, 0, 2)
  const code = 'code' in reply ? CODES[reply.code] : 0
  head.writeUInt16BE(AUTHORITATIVE_ANSWER | code | (isTruncated ? TRUNCATED : 0), 2)
  head.writeUInt16BE(1, 4)
  head.writeUInt16BE(isTruncated ? 0 : found.length, 6)
  const records = isTruncated ? [] : found.map((address) => recordOf(address, ttl))
  return Buffer.concat([head, question.subarray(12), ...records])
}

function recordOf(address: string, ttl: number): Buffer {
  const data = isIPv4(address) ? Buffer.from(address.split('.').map(Number)) : sixteenBytes(address)
  const head = Buffer.from([0xc0, 12, 0, data.length === 4 ? 1 : 28, 0, 1, 0, 0, 0, 0, 0, data.length])
  head.writeUInt32BE(ttl, 6)
  return Buffer.concat([head, data])
}

function sixteenBytes(address: string): Buffer {
  const [head = '', tail] = address.split('::')
  const groups = (text: string) => (text === '' ? [] : text.split(':'))
  const left = groups(head)
  const right = groups(tail ?? '')
  const zeros = Array.from({ length: 8 - left.length - right.length }, () => '0')
  return Buffer.from([...left, ...zeros, ...right].map((group) => group.padStart(4, '0')).join(''), 'hex')
}
