/**
 * The processes of one program in bubblewrap. Three of them are ours:
 *
 *     this process
 *       └ launcher, which becomes bubblewrap when it is in its cgroup    dies with this process
 *           └ bubblewrap in the namespaces, their first process          dies with bubblewrap, and with it everything inside
 *               └ launcher, which becomes the program when it may
 *
 * Each dies with the one above only from some moment on: there is an instant in which this process can be killed and bubblewrap
 * goes on. The program is therefore started last, when both are known to be bound; until then the inner launcher waits on a
 * descriptor that ends with this process.
 *
 * bubblewrap reports to a file: writing to a pipe that has ended would kill it at a moment at which its child waits for it, and
 * would wait for ever.
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

/** How long to look for the end of the namespaces, and how often. A process in a system call that hangs can hold them. */
const LOOKS = 600
const MAX_LOOK_MS = 50
/** Between the inner launcher's word and the filter of its parent there are a few instructions. */
const BINDING_LOOKS = 2_000

/** Of one program. */
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
    // The outer launcher says nothing; the inner one says that it is there.
    control.on('data', () => void this.#release())
    control.on('error', () => undefined)
    this.ended = this.#end(words)
  }

  get rootPid(): number | null {
    return this.#first?.pid ?? null
  }

  /** Lets the outer launcher go on. */
  begin(): void {
    this.#control.write('go\n')
  }

  terminate(): void {
    // Before the program runs there is nobody to ask.
    if (!this.#isReleased || this.#first === null) {
      this.kill()
      return
    }
    const pids = descendantsOf(this.#first.pid)
    signalAll(pids, 'SIGTERM')
    // A stopped process hears the one only after the other.
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
      // bubblewrap binds itself before it tells the pid, and its first process before it takes on the filter.
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
    // Killed by us, or by the kernel when memory ran out.
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

  /** Of the lines of JSON that bubblewrap writes: the first has a pid and, if the program had started, the last an exit code. */
  async #read(name: 'child-pid' | 'exit-code'): Promise<number | null> {
    const text = await readFile(this.#statusPath, 'latin1').catch(() => '')
    const found = new RegExp(`"${name}": (\\d+)`).exec(text)?.[1]
    return found === undefined ? null : Number(found)
  }
}
