/**
 * What a transport is. Every implementation of src/transport/transport.ts passes all of this, unchanged: the
 * suite makes runs wait by firing them, asks the transport for them, and looks at the live rows, which are the
 * truth whatever carries runs. It never looks at what the transport itself keeps.
 */
import { afterAll, describe } from 'vitest'
import { type Rig, startBench } from './bench.ts'
import { claims } from './parts/claims.ts'
import { gates } from './parts/gates.ts'
import { losses } from './parts/losses.ts'
import { puts } from './parts/puts.ts'

export function transportSuite(name: string, startRig: (databaseUrl: string) => Promise<Rig>): void {
  describe(`the ${name} transport`, async () => {
    const bench = await startBench(startRig)
    afterAll(bench.stop)

    puts(bench)
    claims(bench)
    gates(bench)
    losses(bench)
  })
}
