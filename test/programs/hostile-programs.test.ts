/** The programs that are quickly tried. `npm run suite programs` tries all of them. */
import { ALL } from './hostile/all.ts'
import { hostileSuite } from './hostile/suite.ts'

hostileSuite(ALL.filter(({ isLong }) => isLong !== true))
