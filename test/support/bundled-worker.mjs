/** A program as users write it, for tests that bundle it: one handler does what it is told, the other throws. */
import { Worker } from 'belfry/worker'

const worker = new Worker()
worker.handle('greet', (/** @type {{ name: string }} */ { name }) => `Hello, ${name}!`)
worker.handle('break', function breakOnPurpose() {
  throw new Error('the disk is on fire', { cause: new Error('somebody smoked') })
})
await worker.run()
