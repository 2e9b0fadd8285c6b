/**
 * A real mail server in a process of its own. Its argument is JSON: whether it speaks TLS from the start, and who may log in.
 * Recipients have names that say what becomes of them; its parent hears of each message it takes.
 */
import { readFileSync } from 'node:fs'
import { SMTPServer } from 'smtp-server'

const { secure = false, login = null, tls = true } = JSON.parse(process.argv[2] ?? '{}')
const here = (/** @type {string} */ name) => readFileSync(new URL(name, import.meta.url))
const refuse = (code, message) => Object.assign(new Error(message), { responseCode: code })
let connections = 0

const server = new SMTPServer({
  secure,
  key: here('./localhost-key.pem'),
  cert: here('./localhost.pem'),
  disabledCommands: [...(tls ? [] : ['STARTTLS']), ...(login ? [] : ['AUTH'])],
  authOptional: login === null,
  size: 1_000_000,
  logger: false,
  onConnect(_session, done) {
    connections++
    done()
  },
  onAuth({ username, password }, _session, done) {
    if (login && username === login.user && password === login.password) return done(null, { user: username })
    done(refuse(535, `wrong user or password ${username} ${password}`))
  },
  onMailFrom({ address }, _session, done) {
    if (address.startsWith('blocked@')) return done(refuse(550, 'we do not like you'))
    if (address.startsWith('busy@')) return done(refuse(451, 'come back later'))
    done()
  },
  onRcptTo({ address }, _session, done) {
    if (address.startsWith('nobody@')) return done(refuse(550, 'no such user'))
    if (address.startsWith('leaky@'))
      return done(refuse(550, `${login?.user} with the password ${login?.password} cannot send to this user`))
    // Belfry keeps 300 characters of a reply, of which the last ones are the beginning of the password.
    if (address.startsWith('chatty@'))
      return done(refuse(550, `${'.'.repeat(280)} ${login?.password} is refused`))
    if (address.startsWith('full@')) return done(refuse(452, 'mailbox is full'))
    done()
  },
  onData(stream, session, done) {
    const to = session.envelope.rcptTo.map(({ address }) => address)
    const is = (/** @type {string} */ name) => to.some((address) => address.startsWith(`${name}@`))
    if (is('stuck')) {
      process.send?.({ stuck: to })
      return
    }
    const chunks = []
    stream.on('data', (chunk) => chunks.push(chunk))
    stream.on('end', () => {
      if (is('teller')) return done(null, `taken from ${login?.user} with the password ${login?.password}`)
      if (is('spam')) return done(refuse(554, 'looks like spam'))
      const { address } = session.envelope.mailFrom || { address: '' }
      const raw = Buffer.concat(chunks).toString()
      process.send?.({
        from: address,
        to,
        raw,
        isSecure: session.secure,
        user: session.user ?? null,
        connections,
      })
      done(null, 'taken')
    })
  },
})

server.on('error', () => {})
// Its parent has it close every connection, as servers do with those that nobody uses.
process.on('message', () => {
  for (const connection of server.connections) connection.close()
  process.send?.({ heard: true })
})
process.on('disconnect', () => process.exit())
server.listen(0, '127.0.0.1', () => process.send?.({ port: server.server.address().port }))
