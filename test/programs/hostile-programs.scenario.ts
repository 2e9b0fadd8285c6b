/** All hostile programs, with those that take long or much of the machine. */
import { ALL } from './hostile/all.ts'
import { hostileSuite } from './hostile/suite.ts'

hostileSuite(ALL)
