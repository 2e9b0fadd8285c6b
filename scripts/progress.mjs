/**
 * Shows that something is going on, on stderr: on a terminal one line that moves, in a pipe a line at the
 * start, one every few seconds, and one at the end.
 */

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
const FRAME_MS = 80
const LINE_EVERY_MS = 5_000

/**
 * @template T
 * @param {string} text such as 'Installing packages'
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withProgress(text, work) {
  const startedAt = performance.now()
  const elapsed = () => (performance.now() - startedAt) / 1000
  const stop = process.stderr.isTTY ? spin(text, elapsed) : report(text, elapsed)
  try {
    const result = await work()
    stop(`✓ ${text} (${elapsed().toFixed(1)} s)`)
    return result
  } catch (error) {
    stop(`✕ ${text} (${elapsed().toFixed(1)} s)`)
    throw error
  }
}

/**
 * @param {string} text
 * @param {() => number} elapsed
 */
function spin(text, elapsed) {
  let frame = 0
  const draw = () => {
    frame = (frame + 1) % FRAMES.length
    process.stderr.write(`\r\x1b[K${FRAMES[frame]} ${text} … ${Math.floor(elapsed())} s`)
  }
  draw()
  const timer = setInterval(draw, FRAME_MS)
  return (/** @type {string} */ last) => {
    clearInterval(timer)
    process.stderr.write(`\r\x1b[K${last}\n`)
  }
}

/**
 * @param {string} text
 * @param {() => number} elapsed
 */
function report(text, elapsed) {
  process.stderr.write(`${text} …\n`)
  const timer = setInterval(() => {
    process.stderr.write(`${text} … ${Math.round(elapsed())} s\n`)
  }, LINE_EVERY_MS)
  return (/** @type {string} */ last) => {
    clearInterval(timer)
    process.stderr.write(`${last}\n`)
  }
}
