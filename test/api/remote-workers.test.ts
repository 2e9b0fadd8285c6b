/** The protocol of workers of the users' own, spoken by hand against real nodes. */
import { createTestDatabase } from '../support/database.ts'
import { actions } from './remote-workers/actions.ts'
import { attemptReports } from './remote-workers/attempt-reports.ts'
import { claims } from './remote-workers/claims.ts'
import { cutClaims } from './remote-workers/cut-claims.ts'
import { losses } from './remote-workers/losses.ts'
import { startProtocol } from './remote-workers/protocol.ts'
import { reports } from './remote-workers/reports.ts'
import { strangers } from './remote-workers/strangers.ts'
import { tokens } from './remote-workers/tokens.ts'
import { unnamed } from './remote-workers/unnamed.ts'

const protocol = await startProtocol(await createTestDatabase())

claims(protocol)
actions(protocol)
cutClaims(protocol)
reports(protocol)
losses(protocol)
tokens(protocol)
unnamed(protocol)
attemptReports(protocol)
strangers(protocol)
