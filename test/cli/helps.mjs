/**
 * Prints the help of many commands, one after another, from one process: as many would take as long as all other
 * tests of the command line. Each time the program is evaluated anew, with other arguments.
 *
 *   node helps.mjs <main.js> '[["task", "list"], …]'
 */
import { pathToFileURL } from 'node:url'

const [main = '', commands = '[]'] = process.argv.slice(2)
// A command that has told its help ends the process soon after.
process.exit = /** @type {typeof process.exit} */ (() => {})
process.stdout.setMaxListeners(0)
process.stderr.setMaxListeners(0)
for (const [i, words] of JSON.parse(commands).entries()) {
  process.argv = [process.execPath, main, ...words, '--help']
  await import(`${pathToFileURL(main).href}?${i}`)
  process.stdout.write(`\0${process.exitCode ?? 0}\0`)
}
