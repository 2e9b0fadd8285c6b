/**
 * Releases what modules keep for the current test file when the file ends. Test files share a process and its modules, so a
 * hook at the top of a module would be registered only for the first file that imports the module; `set-up-file.ts` registers
 * this one for each file.
 */
const cleanups: (() => Promise<void>)[] = []

/** For modules, at their top: called at the end of every test file from then on. */
export function whenFileEnds(clean: () => Promise<void>): void {
  cleanups.push(clean)
}

export async function endFile(): Promise<void> {
  for (const clean of cleanups) await clean()
}
