/**
 * Loaded into a node before its program: watches for how long the event loop is kept busy on end, as processor time of the
 * main thread, so that other programs on the machine are not blamed on this one. SIGUSR2 makes it tell, and begin anew.
 */
import { closeSync, openSync, readSync } from 'node:fs'

const EVERY_MS = 5
const buffer = Buffer.alloc(64)

/** Milliseconds that the main thread has been running; where the system does not tell, those of the clock. */
function readCpu() {
  try {
    const file = openSync('/proc/thread-self/schedstat', 'r')
    const length = readSync(file, buffer, 0, buffer.length, 0)
    closeSync(file)
    return Number(buffer.toString('latin1', 0, length).split(' ')[0]) / 1e6
  } catch {
    return performance.now()
  }
}

let last = readCpu()
let longest = 0
let told = 0
setInterval(() => {
  const now = readCpu()
  longest = Math.max(longest, now - last)
  last = now
}, EVERY_MS).unref()

process.on('SIGUSR2', () => {
  // What led up to the signal counts too: the timer has not come to it yet.
  longest = Math.max(longest, readCpu() - last)
  told += 1
  process.stderr.write(`loop ${told}: ${longest.toFixed(1)} ms\n`)
  longest = 0
  last = readCpu()
})
