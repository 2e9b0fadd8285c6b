import { expect, test } from 'vitest'
import { BodyCapture, MAX_BODY_CHUNKS, MAX_DRAINED_BODY_BYTES, MAX_KEPT_BODY_BYTES } from './body-capture.ts'

function capture(...chunks: (string | Buffer)[]): BodyCapture {
  const body = new BodyCapture()
  for (const chunk of chunks) body.add(Buffer.from(chunk as Buffer))
  return body
}

test('text stays text, however it is split into chunks', () => {
  const bytes = Buffer.from('Grüße, 世界 🎉')
  const single = Array.from(bytes, (byte) => Buffer.from([byte]))

  expect(capture(bytes).finish({ complete: true })).toEqual({ body: 'Grüße, 世界 🎉', truncated: false })
  expect(capture(...single).finish({ complete: true })).toEqual({ body: 'Grüße, 世界 🎉', truncated: false })
})

test('bytes that cannot be stored as text are kept as base64', () => {
  for (const bytes of [Buffer.from([0xff, 0xfe, 0x00]), Buffer.from('a\0b'), Buffer.from([0x61, 0xc3])]) {
    expect(capture(bytes).finish({ complete: true })).toEqual({
      body: bytes.toString('base64'),
      bodyEncoding: 'base64',
      truncated: false,
    })
  }
})

test('an absent body is an empty text', () => {
  expect(capture().finish({ complete: true })).toEqual({ body: '', truncated: false })
})

test('a body of exactly the bound is whole, one byte more is truncated', () => {
  const exact = 'x'.repeat(MAX_KEPT_BODY_BYTES)

  expect(capture(exact).finish({ complete: true })).toEqual({ body: exact, truncated: false })
  expect(capture(exact, 'y').finish({ complete: true })).toEqual({ body: exact, truncated: true })
})

test.each(['é', '世', '🎉'])('a cut through %s keeps the text before it', (character) => {
  for (let shift = 1; shift < Buffer.byteLength(character); shift++) {
    const start = 'x'.repeat(MAX_KEPT_BODY_BYTES - shift)

    const kept = capture(start + character).finish({ complete: true })

    expect(kept).toEqual({ body: start, truncated: true })
  }
})

test('a cut right after a character keeps that character', () => {
  const start = 'x'.repeat(MAX_KEPT_BODY_BYTES - 4)

  expect(capture(`${start}🎉tail`).finish({ complete: true }).body).toBe(`${start}🎉`)
})

test('a body is exhausted once it is longer than the bytes to keep and to drain together', () => {
  const body = capture(Buffer.alloc(MAX_KEPT_BODY_BYTES + MAX_DRAINED_BODY_BYTES))
  const before = body.isExhausted

  body.add(Buffer.alloc(1))

  expect(before).toBe(false)
  expect(body.isExhausted).toBe(true)
})

test('a body is exhausted once it has arrived in too many chunks', () => {
  const body = capture(...Array.from({ length: MAX_BODY_CHUNKS }, () => 'x'))
  const before = body.isExhausted

  body.add(Buffer.from('x'))

  expect(before).toBe(false)
  expect(body.isExhausted).toBe(true)
})
