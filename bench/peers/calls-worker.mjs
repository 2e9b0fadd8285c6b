/** The calls alone, without a scheduler, at the concurrency of all contenders: the upper bound for each of them. */
import { serve } from './channel.mjs'
import { createWork } from './work.mjs'

let work
let concurrency = 0

serve({
  prepare: (options) => {
    work = createWork(options)
    concurrency = options.concurrency
  },
  work: ({ count }) => {
    let left = count
    const perform = async () => {
      while (left-- > 0) await work()
    }
    for (let i = 0; i < concurrency; i++) void perform()
  },
})
