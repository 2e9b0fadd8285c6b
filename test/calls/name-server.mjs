/**
 * A name server whose answers stand in the names that it is asked for: `many-7.10z0z0z1.xx1.dns.test` has the addresses
 * 10.0.0.1 and ::1. `one` and `many` answer all of them, `alias` by way of another name, and `turn` the first at first and
 * the next one when asked again, as somebody does who means to lead the asker elsewhere once he has looked.
 */
import { createSocket } from 'node:dgram'

const A = 1
const CNAME = 5
const AAAA = 28

/** @type {Map<string, number>} */
const asked = new Map()

/** @param {string} label */
function addressOf(label) {
  if (label.includes('z')) return Buffer.from(label.split('z').map(Number))
  const [head = '', tail = ''] = label.replaceAll('x', ':').split('::')
  const [left, right] = [head, tail].map((part) => (part === '' ? [] : part.split(':')))
  const gap = label.includes('xx') ? 8 - left.length - right.length : 0
  const groups = [...left, ...Array.from({ length: gap }, () => '0'), ...right]
  return Buffer.concat(groups.map((group) => Buffer.from(group.padStart(4, '0'), 'hex')))
}

/** @param {string} name */
const encoded = (name) =>
  Buffer.concat([
    ...name.split('.').map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label)])),
    Buffer.from([0]),
  ])

/** @param {number} type @param {Buffer} data @param {Buffer} owner */
function record(type, data, owner) {
  const head = Buffer.alloc(10)
  head.writeUInt16BE(type, 0)
  head.writeUInt16BE(1, 2)
  head.writeUInt32BE(0, 4)
  head.writeUInt16BE(data.length, 8)
  return Buffer.concat([owner, head, data])
}

/** @param {string} name @param {number} type @returns {Buffer[]} */
function answersTo(name, type) {
  const labels = name.split('.')
  if (!name.endsWith('.dns.test') || labels.length < 4) return []
  const [kind = ''] = (labels[0] ?? '').split('-')
  const all = labels.slice(1, -2).map(addressOf)
  const key = `${name} ${type}`
  const turn = asked.get(key) ?? 0
  asked.set(key, turn + 1)
  const chosen = kind === 'turn' ? all.slice(Math.min(turn, all.length - 1)).slice(0, 1) : all
  const size = type === A ? 4 : 16
  const question = Buffer.from([0xc0, 12])
  const alias = `one-0.${labels.slice(1).join('.')}`
  const owner = kind === 'alias' ? encoded(alias) : question
  return [
    ...(kind === 'alias' ? [record(CNAME, encoded(alias), question)] : []),
    ...chosen.filter((address) => address.length === size).map((address) => record(type, address, owner)),
  ]
}

export async function startNameServer() {
  const socket = createSocket('udp4')
  socket.on('message', (query, from) => {
    let end = 12
    const labels = []
    while (query[end]) {
      const length = query[end] ?? 0
      labels.push(query.toString('latin1', end + 1, end + 1 + length))
      end += length + 1
    }
    const type = query.readUInt16BE(end + 1)
    const records = type === A || type === AAAA ? answersTo(labels.join('.').toLowerCase(), type) : []
    const head = Buffer.alloc(12)
    query.copy(head, 0, 0, 2)
    head.writeUInt16BE(0x8580, 2)
    head.writeUInt16BE(1, 4)
    head.writeUInt16BE(records.length, 6)
    socket.send(Buffer.concat([head, query.subarray(12, end + 5), ...records]), from.port, from.address)
  })
  await new Promise((resolve) => socket.bind(53, '127.0.0.1', () => resolve(undefined)))
}
