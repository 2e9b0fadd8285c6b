/** The helper's end of the line to the benchmark: calls come in as messages, answers go back. */

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
  // Whoever started this is gone.
  process.on('disconnect', () => process.exit())
}
