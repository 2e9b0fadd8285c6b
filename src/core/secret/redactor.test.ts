import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { MAX_ENCODED_LINES } from './patterns.ts'
import { type RedactedParts, Redactor } from './redactor.ts'

const SECRET = 'p4ss/w"ord+é\\ 1'
const MARKUP = `a<b>&'"c&amp;d`
const one = new Redactor([['API', SECRET]])

const base64 = (text: string) => Buffer.from(text).toString('base64')
const NAMES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
}
const html = (text: string) => text.replace(/[&<>"']/g, (c) => NAMES[c] ?? c)
const inDecimal = (text: string) => [...text].map((c) => `&#${c.codePointAt(0)};`).join('')
const inHex = (text: string) => [...text].map((c) => `&#x${c.codePointAt(0)?.toString(16)};`).join('')
const inLines = (text: string) => text.replace(/.{8}(?=.)/g, '$&\r\n')

describe('what an attempt records', () => {
  test.each([
    ['as it is', SECRET],
    ['in base64', base64(SECRET)],
    ['in base64 for URLs', Buffer.from(SECRET).toString('base64url')],
    ['behind a user name in base64', base64(`ada:${SECRET}`).slice(6)],
    ['in base64 with line breaks', inLines(base64(SECRET))],
    ['in base64 with line breaks, inside of JSON', JSON.stringify(inLines(base64(SECRET))).slice(1, -1)],
    ['in hexadecimal', Buffer.from(SECRET).toString('hex')],
    [
      'in hexadecimal with spaces',
      Buffer.from(SECRET)
        .toString('hex')
        .replace(/..(?=.)/g, '$& '),
    ],
    ['in a URL', encodeURIComponent(SECRET)],
    ['in a URL with small letters', encodeURIComponent(SECRET).toLowerCase()],
    ['in a form', new URLSearchParams({ a: SECRET }).toString().slice(2)],
    ['in JSON', JSON.stringify(SECRET).slice(1, -1)],
    ['in JSON inside of JSON', JSON.stringify(JSON.stringify(SECRET).slice(1, -1)).slice(1, -1)],
    ['in JSON inside of a URL', encodeURIComponent(JSON.stringify(SECRET).slice(1, -1))],
    [
      'in JSON that escapes everything',
      [...SECRET].map((c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`).join(''),
    ],
    ['in a URL that escapes everything', [...Buffer.from(SECRET)].map((b) => `%${b.toString(16)}`).join('')],
  ])('redacts a secret %s', (_, written) => {
    expect(one.text(`before ${written} after`)).toMatch(/^before [\w:=]{0,4}\[secret API\][\w=]{0,3} after$/)
  })

  test.each([
    ['in HTML', html(MARKUP)],
    ['in HTML with numbers', MARKUP.replace(/[&<>"']/g, inDecimal).replace('&#39;', '&#039;')],
    ['in HTML with capital letters', html(MARKUP).replace(/&\w+;/g, (name) => name.toUpperCase())],
    ['in HTML that escapes everything', inDecimal(MARKUP)],
    ['in HTML that escapes everything in hexadecimal', inHex(MARKUP)],
    ['in HTML inside of HTML', html(html(MARKUP))],
    ['in HTML inside of JSON', JSON.stringify(html(MARKUP)).slice(1, -1)],
    ['in HTML inside of JSON that escapes &', html(MARKUP).replaceAll('&', '\\u0026')],
    ['in HTML inside of a URL', encodeURIComponent(html(MARKUP))],
    ['in JSON inside of HTML', html(JSON.stringify(MARKUP).slice(1, -1))],
    ['in a URL inside of HTML', html(encodeURIComponent(MARKUP))],
  ])('redacts a secret with markup %s', (_, written) => {
    const redactor = new Redactor([['API', MARKUP]])

    expect(redactor.text(`<b>before ${written} &amp; after</b>`)).toBe(
      '<b>before [secret API] &amp; after</b>',
    )
  })

  test('keeps everything else as it was', () => {
    expect(one.text('{{secret.API}} %zz \\u12 &lt &#x110000; &#; 100% p4ss/w')).toBe(
      '{{secret.API}} %zz \\u12 &lt &#x110000; &#; 100% [secret API]',
    )
    expect(one.text('p4ss/ and nothing else')).toBe('p4ss/ and nothing else')
    expect(new Redactor([]).text(SECRET)).toBe(SECRET)
    expect(new Redactor([['PIN', '12345']]).text('12345')).toBe('12345')
  })

  test('redacts the beginning of a secret where the text was cut', () => {
    expect(one.text(`echo ${SECRET.slice(0, -1)}`)).toBe('echo [secret API]')
    expect(one.text(`echo ${JSON.stringify(SECRET).slice(1, -4)}`)).toBe('echo [secret API]')
  })

  test('redacts overlapping secrets under the name of the first', () => {
    const two = new Redactor([
      ['A', 'abcdefgh'],
      ['B', 'efghijkl'],
    ])
    expect(two.text('-abcdefghijkl- efghijkl')).toBe('-[secret A]- [secret B]')
  })

  test('redacts a single line of a secret with several lines', () => {
    const pem = new Redactor([
      ['PEM', '-----BEGIN KEY-----\nMIIBVgIBADANBg\nkqhkiG9w0BAQEF\n-----END KEY-----\n'],
    ])
    expect(pem.text('line 2: MIIBVgIBADANBg!')).toBe('line 2: [secret PEM]!')
    expect(pem.text(`line 2: ${base64('MIIBVgIBADANBg')}!`)).toBe('line 2: [secret PEM]!')
    expect(pem.text(`line 2: ${Buffer.from('MIIBVgIBADANBg').toString('hex')}!`)).toBe(
      'line 2: [secret PEM]!',
    )
  })

  test('redacts as many encoded lines as it has patterns for, and every line as it is', () => {
    const lines = Array.from(
      { length: MAX_ENCODED_LINES + 1 },
      (_, n) => `line-${String(n).padStart(6, '0')}`,
    )
    const redactor = new Redactor([['LONG', lines.join('\n')]])
    const [last, beyond] = [lines.at(-2) ?? '', lines.at(-1) ?? '']

    expect(redactor.text(`${last} ${base64(last)}`)).toBe('[secret LONG] [secret LONG]')
    expect(redactor.text(beyond)).toBe('[secret LONG]')
    expect(redactor.text(base64(lines.join('\n')))).toBe('[secret LONG]')
    expect(redactor.text(base64(beyond))).toBe(base64(beyond))
  })

  test('is redacted in names, lists and numbers too', () => {
    const redactor = new Redactor([['PIN', '123456']])
    expect(redactor.value({ a: [123456, 7, null, true], 'b 123456': { c: 'x123456y' } })).toEqual({
      a: ['[secret PIN]', 7, null, true],
      'b [secret PIN]': { c: 'x[secret PIN]y' },
    })
  })
})

const values = fc.string({ unit: fc.constantFrom(...'ab%\\"/+é 🦉1n&<'), minLength: 6, maxLength: 12 })
const noise = fc.string({ unit: fc.constantFrom(...'ab%\\"u0+é 🦉1n&#;', '&lt', 'amp;'), maxLength: 40 })
const writings = fc.constantFrom<(text: string) => string>(
  (text) => text,
  encodeURIComponent,
  (text) => JSON.stringify(text).slice(1, -1),
  (text) => encodeURIComponent(JSON.stringify(text).slice(1, -1)),
  html,
  inDecimal,
  inHex,
  (text) => html(html(text)),
  (text) => encodeURIComponent(inHex(text)),
  (text) => JSON.stringify(html(text)).slice(1, -1).replaceAll('&', '\\u0026'),
  (text) => html(JSON.stringify(text).slice(1, -1)),
  (text) => inLines(base64(text)),
  (text) => inLines(Buffer.from(text).toString('hex')),
)

test('a stream in pieces of any size is redacted like the whole text', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(noise, values, writings), { minLength: 1, maxLength: 6 }),
      fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 20 }),
      fc.array(fc.boolean(), { minLength: 1, maxLength: 20 }),
      (parts, sizes, isShown) => {
        const redactor = new Redactor(parts.slice(0, 2).map(([, value], i) => [`S${i}`, value]))
        const text = parts.map(([before, value, write]) => before + write(value)).join('')
        const bytes = Buffer.from(text)
        const stream = redactor.stream()
        const told: Buffer[] = []
        for (let at = 0, n = 0; at < bytes.length; n++) {
          const size = sizes[n % sizes.length] as number
          told.push(stream.push(bytes.subarray(at, at + size)))
          if (isShown[n % isShown.length]) told.push(stream.settle())
          at += size
        }
        told.push(stream.end())
        expect(Buffer.concat(told).toString()).toBe(redactor.text(text))
      },
    ),
    { numRuns: 500 },
  )
})

test('a secret of at least six characters is redacted in any surrounding text', () => {
  fc.assert(
    fc.property(
      noise,
      fc.string({ minLength: 6, maxLength: 20 }),
      noise,
      writings,
      (before, value, after, write) => {
        const told = new Redactor([['S', value]]).text(before + write(value) + after)
        fc.pre(!'[secret S]'.includes(value))
        expect(told.replaceAll('[secret S]', '\u0000')).not.toContain(value)
      },
    ),
    { numRuns: 500 },
  )
})

test('a stream passes on text that cannot be part of a secret without waiting for more', () => {
  const stream = new Redactor([['PASSWORD', 'correct horse']]).stream()

  expect(stream.push(Buffer.from('50 % are done\n')).toString() + stream.settle()).toBe('50 % are done\n')
  expect(stream.push(Buffer.from('the correct ho')).toString() + stream.settle()).toBe('the ')
  expect(stream.push(Buffer.from('tel\n')).toString() + stream.settle()).toBe('correct hotel\n')
})

test('a stream keeps the lines of an encoded secret together', () => {
  const encoded = base64('-----BEGIN KEY-----'.repeat(5)).replace(/.{76}/g, '$&\n')
  const stream = new Redactor([['KEY', '-----BEGIN KEY-----'.repeat(5)]]).stream()

  const told = [...`it is\n${encoded}\ndone\n`.matchAll(/.*\n/g)].map(
    ([line]) => stream.push(Buffer.from(line)).toString() + stream.settle(),
  )

  expect([...told, stream.end().toString()].join('')).toBe('it is\n[secret KEY]\ndone\n')
  expect(told[0]).toBe('it is\n')
})

test('a stream that repeats a secret endlessly is redacted in bounded memory', () => {
  const stream = new Redactor([['A', 'aaaaaa']]).stream()
  let told = 0
  for (let i = 0; i < 40; i++) told += stream.push(Buffer.alloc(16 * 1024, 'a')).length

  expect(told).toBeGreaterThan(0)
  expect(stream.end().toString()).not.toContain('aaaaaa')
})

describe('a value in parts', () => {
  const key = new Redactor([['KEY', 'correct horse battery']])

  test('each part is redacted if the preceding text is known', () => {
    const first = key.parts(['it is correct ho'], Buffer.alloc(0))
    const second = key.parts(['rse', ' battery, and correct it is'], first.begun)

    expect(first).toEqual({ texts: ['it is [secret KEY]'], begun: Buffer.from('correct ho') })
    expect(second.texts).toEqual(['', '[secret KEY], and correct it is'])
    expect(key.parts(['tel is open'], first.begun).texts).toEqual(['tel is open'])
  })

  test('the end of a value is redacted if the preceding text is unknown', () => {
    expect(key.parts(['rse battery!'], null).texts).toEqual(['[secret KEY]!'])
    expect(key.parts(['tery!'], null).texts).toEqual(['tery!'])
  })

  test('fewer than six characters of a value remain, for any number of parts', () => {
    const value = fc.string({ unit: fc.constantFrom(...'abcdefgh123'), minLength: 6, maxLength: 30 })
    const cuts = fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 6 })
    fc.assert(
      fc.property(value, cuts, fc.boolean(), (secret, places, isKnown) => {
        const redactor = new Redactor([['S', secret]])
        const [one = 1] = places
        const ends = [...new Set(isKnown ? places : [one])]
          .filter((at) => at < secret.length)
          .sort((a, b) => a - b)
        let before: Buffer | null = Buffer.alloc(0)
        let told = ''
        for (const [i, end] of [...ends, secret.length].entries()) {
          const part: RedactedParts = redactor.parts([secret.slice(ends[i - 1] ?? 0, end)], before)
          before = isKnown ? part.begun : null
          told += part.texts[0]
        }
        expect(told.replaceAll('[secret S]', '').length).toBeLessThan(Math.min(6, secret.length / 2 + 1))
      }),
      { numRuns: 500 },
    )
  })
})
