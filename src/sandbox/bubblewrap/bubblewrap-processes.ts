/**
 * The processes of one program in bubblewrap. Each is the parent of the next:
 * - this process;
 * - the launcher, which becomes bubblewrap once it is in its cgroup, and dies with this process;
 * - bubblewrap inside the namespaces as their first process, which dies with the outer bubblewrap and ends everything inside;
 * - the inner launcher, which becomes the program once it is released.
 *
 * Each is bound to its parent only after a moment: there is an instant in which this process can be killed while bubblewrap
 * continues. The program is therefore started last, when both are known to be bound; until then the inner launcher waits on a
 * descriptor that closes with this process.
 *
 * bubblewrap reports to a file: writing to a closed pipe would kill it while its child waits for it, and the child would wait
 * indefinitely.
 */

import type { ChildProcess } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import type { Duplex } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { startTimeOf } from '../../runtime/process-identity.ts'
import type { LauncherWords } from '../launcher-words.ts'
import { descendantsOf, isFiltering, isOver, signalAll } from '../processes.ts'
import type { LaunchedProcesses } from '../run-program.ts'
import { codeOfSignal, type Exit } from '../supervision.ts'

/**
 * Number of checks for the end of the namespaces, and the maximum interval. A process in a hanging system call can keep them
 * alive.
 */
const LOOKS = 600
const MAX_LOOK_MS = 50
/** Only a few instructions separate the inner launcher's message from the installation of its parent's filter. */
const BINDING_LOOKS = 2_000

/** The processes of one program. */
export class BubblewrapProcesses implements LaunchedProcesses {
  readonly ended: Promise<Exit>
  readonly #child: ChildProcess
  readonly #control: Duplex
  readonly #statusPath: string
  /** The first process of the namespaces, and its start time. */
  #first: { readonly pid: number; readonly startedAt: string | null } | null = null
  #isReleased = false
  #isDoomed = false

  constructor(child: ChildProcess, control: Duplex, statusPath: string, words: LauncherWords) {
    this.#child = child
    this.#control = control
    this.#statusPath = statusPath
    // The outer launcher sends nothing; the inner one reports that it has started.
    control.on('data', () => void this.#release())
    control.on('error', () => undefined)
    this.ended = this.#end(words)
  }

  get rootPid(): number | null {
    return this.#first?.pid ?? null
  }

  /** Releases the outer launcher. */
  begin(): void {
    this.#control.write('go\n')
  }

  terminate(): void {
    // Before the program runs, no process would handle a signal.
    if (!this.#isReleased || this.#first === null) {
      this.kill()
      return
    }
    const pids = descendantsOf(this.#first.pid)
    signalAll(pids, 'SIGTERM')
    // A stopped process handles SIGTERM only after SIGCONT.
    signalAll(pids, 'SIGCONT')
  }

  kill(): void {
    this.#isDoomed = true
    this.#control.destroy()
    const { pid, exitCode, signalCode } = this.#child
    // Until bubblewrap has made its namespaces, its child is in the same process group and would wait for it.
    if (pid !== undefined && exitCode === null && signalCode === null) signalAll([-pid], 'SIGKILL')
  }

  async #release(): Promise<void> {
    await this.#findFirst()
    for (let look = 0; look < BINDING_LOOKS && !this.#isDoomed; look += 1) {
      // bubblewrap binds itself before it reports the pid, and binds its first process before that process installs the filter.
      if (this.#first !== null && isFiltering(this.#first.pid)) {
        this.#isReleased = true
        this.#control.write('go\n')
        return
      }
      await delay(1)
    }
    this.kill()
  }

  async #end(words: LauncherWords): Promise<Exit> {
    const signal = await new Promise<NodeJS.Signals | null>((resolve) => {
      this.#child.once('exit', (_code, by) => resolve(by))
      this.#child.once('error', (error) => {
        words.add(error)
        resolve(null)
      })
    })
    this.#isDoomed = true
    this.#control.destroy()
    await this.#everythingIsOver()
    const code = await this.#read('exit-code')
    if (code !== null && this.#isReleased) return { code }
    // Killed by this process, or by the kernel because memory ran out.
    if (signal !== null && this.#isReleased) return { code: codeOfSignal(signal) }
    return { code: null }
  }

  async #findFirst(): Promise<void> {
    const pid = this.#first === null ? await this.#read('child-pid') : null
    if (pid !== null) this.#first = { pid, startedAt: startTimeOf(pid) }
  }

  async #everythingIsOver(): Promise<void> {
    await this.#findFirst()
    for (let look = 0; look < LOOKS && this.#first !== null; look += 1) {
      const { pid, startedAt } = this.#first
      if (isOver(pid) || startTimeOf(pid) !== startedAt) return
      await delay(Math.min(look, MAX_LOOK_MS))
    }
  }

  /** Reads the JSON lines that bubblewrap writes: the first has a pid and, if the program started, the last has an exit code. */
  async #read(name: 'child-pid' | 'exit-code'): Promise<number | null> {
    const text = await readFile(this.#statusPath, 'latin1').catch(() => '')
    const found = new RegExp(`"${name}": (\\d+)`).exec(text)?.[1]
    return found === undefined ? null : Number(found)
  }
}
