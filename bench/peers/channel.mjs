/** The helper's end of the channel to the benchmark: receives calls as messages and sends the results back. */

/** @param {Record<string, (args: any) => unknown>} methods */
export function serve(methods) {
  process.on('message', async (/** @type {{ id: number, method: string, args: unknown }} */ call) => {
    try {
      const method = methods[call.method]
      if (!method) throw new Error(`there is no '${call.method}'`)
      process.send({ id: call.id, result: await method(call.args) })
    } catch (error) {
      process.send({ id: call.id, error: error.stack ?? String(error) })
    }
  })
  // The parent process has ended.
  process.on('disconnect', () => process.exit())
}
