/** The sandbox that programs are tested in: bubblewrap, which is installed where that can be done. */
import { canInstallPackages, installPackage, isProgram } from './apt.ts'
import { withBootstrapLock } from './bootstrap-lock.ts'

const PATHS = ['/usr/bin/bwrap', '/usr/local/bin/bwrap']

/** Several test files at once install it one after the other. Where it cannot be installed, the error says what to do. */
export async function ensureBubblewrap(): Promise<void> {
  if (PATHS.some(isProgram)) return
  let tried: string | null = null
  if (canInstallPackages())
    await withBootstrapLock(async () => {
      if (!PATHS.some(isProgram)) tried = installPackage(process.env, ['bubblewrap'])
    })
  if (PATHS.some(isProgram)) return
  throw new Error(
    'The tests of programs need bubblewrap, and there is none. On Debian and Ubuntu: apt-get install bubblewrap. ' +
      `On Fedora: dnf install bubblewrap.${tried === null ? '' : ` ${tried}`}`,
  )
}
