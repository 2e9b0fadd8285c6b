/**
 * `npm run test:balancer`: the tests of the API, asking two nodes in turn through a balancer without stickiness. Arguments are vitest's:
 * `npm run test:balancer -- test/api/stream.test.ts`. Tests about the connections, sockets or memory of one node start one all the same.
 */
process.env['BELFRY_TEST_BALANCED'] = 'true'
if (process.argv.length === 2) process.argv.push('test/api')
await import('./test.mjs')
