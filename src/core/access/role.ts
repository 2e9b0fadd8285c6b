/** Roles, and the access that each of them gives. One pure function decides; every route declares the access that it needs. */
import type { KeyLimits } from '../limits/limits.ts'

export const ROLES = ['viewer', 'operator', 'editor', 'admin', 'worker'] as const
/** The role of a key or a person, in one project or in the whole installation. */
export type Role = (typeof ROLES)[number]

/**
 * The access that a route needs:
 * - `public` none: health, the dashboard's files, the API reference, signing in;
 * - `self` reading one's own identity: any valid credential, whatever its role;
 * - `read` reading the contents of a project;
 * - `operate` acting on existing tasks and runs: pause, trigger, rerun, cancel;
 * - `edit` changing the contents of a project;
 * - `administer` keys, members and settings of a project;
 * - `inspect` reading what concerns all projects, such as nodes;
 * - `installation` changing what concerns all projects, such as creating one;
 * - `work` registering a worker;
 * - `token` the requests of a registered worker, which its token authenticates.
 */
export const ACCESSES = [
  'public',
  'self',
  'read',
  'operate',
  'edit',
  'administer',
  'inspect',
  'installation',
  'work',
  'token',
] as const
export type Access = (typeof ACCESSES)[number]

/** Access that a role gives. */
export type GrantedAccess = Exclude<Access, 'public' | 'self' | 'token'>

/** The roles of a caller: one in the installation, which counts in every project, and one in each of some projects. */
export interface Grant {
  readonly installation: Role | null
  /** Roles by project id. */
  readonly projects: ReadonlyMap<string, Role>
}

/**
 * The roles that give each access. `inspect` and `installation` need a role in the installation; a role in a project does not
 * suffice.
 */
const ALLOWED: { readonly [A in GrantedAccess]: readonly Role[] } = {
  read: ['viewer', 'operator', 'editor', 'admin'],
  operate: ['operator', 'editor', 'admin'],
  edit: ['editor', 'admin'],
  administer: ['admin'],
  inspect: ['viewer', 'operator', 'editor', 'admin'],
  installation: ['admin'],
  work: ['worker', 'admin'],
}

/** Access that concerns the whole installation rather than one project. */
export const OF_INSTALLATION: ReadonlySet<Access> = new Set(['inspect', 'installation'])

/** Access that an archived project still allows: its tasks can be read, and its keys and settings can be changed. */
export const OF_ARCHIVED: ReadonlySet<Access> = new Set([
  'public',
  'read',
  'administer',
  'inspect',
  'installation',
])

/** Whether a role gives an access, in the project or the installation in which the caller has that role. */
export const roleAllows = (role: Role, access: GrantedAccess): boolean => ALLOWED[access].includes(role)

/** Whether the caller has this access in the project. */
export function allows({ installation, projects }: Grant, projectId: string, access: GrantedAccess): boolean {
  if (installation !== null && roleAllows(installation, access)) return true
  if (OF_INSTALLATION.has(access)) return false
  const role = projects.get(projectId)
  return role !== undefined && roleAllows(role, access)
}

/** Whether the caller may know that the project exists. A project in which the caller has no role is reported as not found. */
export const sees = ({ installation, projects }: Grant, projectId: string): boolean =>
  installation !== null || projects.has(projectId)

/** The weakest role that gives an access, for the message of a refusal. */
export function neededRole(access: GrantedAccess): string {
  const [role = 'admin'] = ALLOWED[access]
  return OF_INSTALLATION.has(access) ? `${role} of the installation` : role
}

/** Rank of each role. A worker may do nothing that a viewer may, so both have rank 0. Only admins may create keys. */
const RANKS: { readonly [R in Role]: number } = { worker: 0, viewer: 0, operator: 1, editor: 2, admin: 3 }

/** The stronger of two roles, for a caller who has both in a project. */
export const stronger = (a: Role, b: Role): Role => (RANKS[b] > RANKS[a] ? b : a)

/** The grant of a caller without a credential. */
export const NOTHING: Grant = { installation: null, projects: new Map() }

/** The grant of Belfry itself and of the clients of an open server: everything. */
export const EVERYTHING: Grant = { installation: 'admin', projects: new Map() }

/** Restrictions on a credential besides its role. Null means no restriction. */
export interface Reach {
  readonly queues: readonly string[] | null
  /** Networks that requests must come from, such as 10.0.0.0/8. */
  readonly networks: readonly string[] | null
  readonly expiresAt: number | null
  readonly limits: KeyLimits | null
}

export const UNLIMITED: Reach = { queues: null, networks: null, expiresAt: null, limits: null }
