/**
 * The tests of the API, with requests that alternate between two nodes through a balancer without stickiness. Words select
 * test files, of the API or others: `npm run suite balancer test/api/stream.test.ts`. Tests about the connections, sockets or
 * memory of one node start one all the same.
 */
import { runVitest } from '../vitest.mjs'
import { divide } from './selection.mjs'

const API = 'test/api/'

/** @type {import('./index.mjs').Run} */
export function run(args) {
  const { words, options } = divide(args)
  return runVitest([...(words.length === 0 ? [API] : words), ...options], { BELFRY_TEST_BALANCED: 'true' })
}
