/** Settings with a few possible values, and these values. */

export const ROLES = ['api', 'scheduler', 'worker', 'liveness'] as const
export type Role = (typeof ROLES)[number]

/** How long a client keeps its database session: as long as its connection, or for one transaction. */
export const POOLING = ['session', 'transaction'] as const
export type Pooling = (typeof POOLING)[number]

/** Whether tasks may reach loopback and private networks, and whether programs may use the network. */
export const PRIVATE_ADDRESSES = ['auto', 'allow', 'refuse'] as const
export type PrivateAddresses = (typeof PRIVATE_ADDRESSES)[number]

/** Whether programs may run. With `auto` they may if the API listens on loopback and a sandbox works. */
export const EXEC_MODES = ['auto', 'on', 'off'] as const
export type ExecMode = (typeof EXEC_MODES)[number]
