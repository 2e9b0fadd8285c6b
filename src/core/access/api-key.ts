/**
 * API keys: `bf_`, 40 random characters, and a checksum of 6. The prefix lets people and scanners recognise one, and
 * the checksum tells a key from text that only looks like one. A key is random, so its plain SHA-256 is stored.
 */
import { hash } from 'node:crypto'
import { crc32 } from 'node:zlib'

const PREFIX = 'bf_'
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
/** 238 bits. */
const SECRET_CHARACTERS = 40
const CHECKSUM_CHARACTERS = 6
/** Bytes from this value on are discarded, because they would make some characters more likely than others. */
const UNBIASED_BYTES = 256 - (256 % ALPHABET.length)
/** Number of leading characters of a key that are stored in clear, so that people can recognise it. */
const HINT_CHARACTERS = PREFIX.length + 5

const SHAPE = new RegExp(`^${PREFIX}[0-9A-Za-z]{${SECRET_CHARACTERS + CHECKSUM_CHARACTERS}}$`)

/** Makes a key from random bytes, and requests more bytes until it has enough characters. */
export function makeApiKey(randomBytes: (count: number) => Uint8Array): string {
  let secret = ''
  while (secret.length < SECRET_CHARACTERS) {
    for (const byte of randomBytes(SECRET_CHARACTERS))
      if (byte < UNBIASED_BYTES && secret.length < SECRET_CHARACTERS)
        secret += ALPHABET[byte % ALPHABET.length]
  }
  return PREFIX + secret + checksumOf(secret)
}

/** Whether the text has the form and the checksum of an API key. */
export function isApiKey(text: string): boolean {
  if (!SHAPE.test(text)) return false
  const end = PREFIX.length + SECRET_CHARACTERS
  return text.slice(end) === checksumOf(text.slice(PREFIX.length, end))
}

function checksumOf(secret: string): string {
  let rest = crc32(secret)
  let text = ''
  for (let i = 0; i < CHECKSUM_CHARACTERS; i++) {
    text = ALPHABET[rest % ALPHABET.length] + text
    rest = Math.floor(rest / ALPHABET.length)
  }
  return text
}

/** The beginning of a key, by which people recognise it. */
export const hintOf = (key: string): string => key.slice(0, HINT_CHARACTERS)

/** The stored form of a key, by which it is also looked up: SHA-256 in base64. */
export const hashOfKey = (key: string): string => hash('sha256', key, 'base64')

/** Minimum length of a key that the environment sets: people choose such keys, and shorter ones can be guessed. */
export const MIN_ADMIN_KEY_CHARACTERS = 32
