/**
 * What modules keep for the test file that runs, they let go of when it ends. Test files share a process and its
 * modules, so a hook at the top of a module would be registered by the first file that imports it and by no other;
 * `set-up-file.ts` registers this one for each.
 */
const cleanups: (() => Promise<void>)[] = []

/** For modules, at their top: called at the end of every test file from then on. */
export function whenFileEnds(clean: () => Promise<void>): void {
  cleanups.push(clean)
}

export async function endFile(): Promise<void> {
  for (const clean of cleanups) await clean()
}
