/** Roles, and what each of them allows. One pure function decides; every route says which access it needs. */
import type { KeyLimits } from '../limits/limits.ts'

export const ROLES = ['viewer', 'operator', 'editor', 'admin', 'worker'] as const
/** What a key or a person may do, in one project or in the whole installation. */
export type Role = (typeof ROLES)[number]

/**
 * What a route needs:
 *
 * - `public` nothing: health, the dashboard's files, the API reference, signing in;
 * - `self` seeing who one is: any valid credential, whatever its role;
 * - `read` seeing what a project holds;
 * - `operate` acting on tasks and runs as they are: pause, trigger, retry, cancel;
 * - `edit` changing what a project holds;
 * - `administer` keys, members and settings of a project;
 * - `inspect` seeing what concerns all projects, such as nodes;
 * - `installation` changing what concerns all projects, such as creating one;
 * - `work` registering a worker;
 * - `token` what a registered worker does, by the token that it was given.
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

/** What somebody may do: a role in the installation, which counts in every project, and roles in projects. */
export interface Grant {
  readonly installation: Role | null
  /** By the id of the project. */
  readonly projects: ReadonlyMap<string, Role>
}

/** Roles by the access that they give. Where a role of the installation is needed, no role of a project will do. */
const ALLOWED: { readonly [A in GrantedAccess]: readonly Role[] } = {
  read: ['viewer', 'operator', 'editor', 'admin'],
  operate: ['operator', 'editor', 'admin'],
  edit: ['editor', 'admin'],
  administer: ['admin'],
  inspect: ['viewer', 'operator', 'editor', 'admin'],
  installation: ['admin'],
  work: ['worker', 'admin'],
}

/** Access that concerns no single project. */
export const OF_INSTALLATION: ReadonlySet<Access> = new Set(['inspect', 'installation'])

/** Access that an archived project allows: its tasks can be read, and its keys and settings be changed. */
export const OF_ARCHIVED: ReadonlySet<Access> = new Set([
  'public',
  'read',
  'administer',
  'inspect',
  'installation',
])

/** Whether a role allows an access, in the project or the installation that it was given in. */
export const roleAllows = (role: Role, access: GrantedAccess): boolean => ALLOWED[access].includes(role)

/** Whether somebody has this access in the project. */
export function allows({ installation, projects }: Grant, projectId: string, access: GrantedAccess): boolean {
  if (installation !== null && roleAllows(installation, access)) return true
  if (OF_INSTALLATION.has(access)) return false
  const role = projects.get(projectId)
  return role !== undefined && roleAllows(role, access)
}

/** Whether the project exists for somebody: what is in others is as good as nothing. */
export const sees = ({ installation, projects }: Grant, projectId: string): boolean =>
  installation !== null || projects.has(projectId)

/** The weakest role that gives an access, as a refusal names it. */
export function neededRole(access: GrantedAccess): string {
  const [role = 'admin'] = ALLOWED[access]
  return OF_INSTALLATION.has(access) ? `${role} of the installation` : role
}

/** How much a role allows. A worker may do nothing that a viewer may; whoever may create keys is an admin. */
const RANKS: { readonly [R in Role]: number } = { worker: 0, viewer: 0, operator: 1, editor: 2, admin: 3 }

/** The role that counts in a project where somebody has several. */
export const stronger = (a: Role, b: Role): Role => (RANKS[b] > RANKS[a] ? b : a)

/** What somebody may do who has shown no credential. */
export const NOTHING: Grant = { installation: null, projects: new Map() }

/** Everything, as Belfry itself and clients of an open server may do. */
export const EVERYTHING: Grant = { installation: 'admin', projects: new Map() }

/** Where and for how long a credential is good, besides its role. Null: without limit. */
export interface Reach {
  readonly queues: readonly string[] | null
  /** Networks that requests must come from, such as 10.0.0.0/8. */
  readonly networks: readonly string[] | null
  readonly expiresAt: number | null
  readonly limits: KeyLimits | null
}

export const UNLIMITED: Reach = { queues: null, networks: null, expiresAt: null, limits: null }
