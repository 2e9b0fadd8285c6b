/** The key of the installation that exists only in the configuration of nodes, as `BELFRY_ADMIN_KEY`. */
import { scryptSync } from 'node:crypto'
import { UNLIMITED } from '../../core/access/role.ts'
import type { GoodKey } from './key-book.ts'

/** The beginning of its id, which no row has. */
const ADMIN_KEY_IDS = '00000000-0000-7000-8000-'

/**
 * The rest of its id is derived from the key, so that every node has the same one, and what was registered or signed with it ends
 * when it is replaced. The audit log shows the id, and the key may be a phrase that can be guessed. So a guess costs 16 MiB and
 * some tens of milliseconds, once at the start of a node; a hash of the key would cost nothing, and serves for requests.
 */
const ID_BYTES = 6
const SALT = 'the id of BELFRY_ADMIN_KEY'
const COST = { N: 16_384, r: 8, p: 1 }

export const adminKeyFrom = (key: string): GoodKey => ({
  id: `${ADMIN_KEY_IDS}${scryptSync(key, SALT, ID_BYTES, COST).toString('hex')}`,
  name: 'BELFRY_ADMIN_KEY',
  role: 'admin',
  projectId: null,
  reach: UNLIMITED,
  networks: null,
})

export const isAdminKeyId = (id: string): boolean => id.startsWith(ADMIN_KEY_IDS)
