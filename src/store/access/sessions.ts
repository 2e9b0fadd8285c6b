/** Dashboard sessions. */
import type { Role } from '../../core/access/role.ts'
import { list, part, sql } from '../database/sql.ts'

/** When sessions end, and which people's sessions are valid. */
export interface SessionRules {
  readonly idleMinutes: number
  readonly maxHours: number
  /** The configured provider; sessions of people from other providers are invalid. Null if no provider is configured. */
  readonly issuer: string | null
}

/** A role of a person: in a project, or in the installation if `projectId` is null. */
export interface GivenRole {
  readonly projectId: string | null
  readonly role: Role
}

/** A session that is valid by its own row; the session of a key also needs that key to be valid. */
export interface SessionRow {
  readonly id: string
  readonly tokenHash: string
  /** Base64; null for the session of a person. */
  readonly keyHash: string | null
  readonly personId: string | null
  readonly email: string | null
  readonly name: string | null
  readonly subject: string | null
  readonly roles: readonly GivenRole[]
  readonly endsAt: number
}

const isGood = ({ idleMinutes, maxHours, issuer }: SessionRules) => part`
  s.seen_at > now() - make_interval(mins => ${idleMinutes}::integer)
  and s.created_at > now() - make_interval(hours => ${maxHours}::integer)
  and (s.person_id is null or p.issuer = ${issuer}::text)`

/** Returns the valid sessions among those with the given token hashes (base64), with the current roles of their people. */
export const goodSessions = (tokenHashes: readonly string[], rules: SessionRules) => sql<SessionRow>`
  select s.id, encode(s.token_hash, 'base64') as "tokenHash", encode(s.key_hash, 'base64') as "keyHash",
         s.person_id as "personId", p.email, p.name, p.subject,
         s.created_at + make_interval(hours => ${rules.maxHours}::integer) as "endsAt",
         (select coalesce(json_agg(json_build_object('projectId', m.project_id, 'role', m.role)
                                   order by m.project_id, m.role), '[]'::json)
          from member m
          where (m.kind = 'email' and m.who = p.email) or (m.kind = 'group' and m.who = any(p.groups))) as roles
  from session s left join person p on p.id = s.person_id
  where s.token_hash = any(array(select decode(t, 'base64') from unnest(${list(tokenHashes, (hash) => hash)}::text[]) t))
    and ${isGood(rules)}`

/** A session to insert: of a person, or of the bearer of a key. */
export interface NewSession {
  readonly id: string
  readonly tokenHash: string
  readonly personId: string | null
  readonly keyHash: string | null
}

export const insertSession = ({ id, tokenHash, personId, keyHash }: NewSession) => sql`
  insert into session (id, token_hash, person_id, key_hash)
  values (${id}, decode(${tokenHash}, 'base64'), ${personId}, decode(${keyHash}::text, 'base64'))`

/** Whose sessions: those of a person or of a key. */
export type Holder = Pick<NewSession, 'personId' | 'keyHash'>

const heldBy = ({ personId, keyHash }: Holder) =>
  personId === null
    ? part`key_hash = decode(${keyHash}::text, 'base64')`
    : part`person_id = ${personId}::uuid`

/** Ends all sessions of the holder except the `kept` most recently used. */
export const endSessionsBeyond = (holder: Holder, kept: number) => sql<{ id: string }>`
  delete from session where id in (
    select id from session where ${heldBy(holder)} order by seen_at desc, id desc offset ${kept}::integer)
  returning id`

export const endSession = (id: string) =>
  sql<{ id: string }>`delete from session where id = ${id} returning id`

export const endSessionsOf = (holder: Holder) => sql<{ id: string }>`
  delete from session where ${heldBy(holder)} returning id`

/** Records that sessions were used. */
export const noteSeen = (ids: readonly string[]) => sql`
  update session set seen_at = now()
  where id = any(${list(ids, (id) => id)}::uuid[]) and seen_at < now() - interval '30 seconds'`

/** Deletes sessions that have expired. */
export const deleteEnded = ({ idleMinutes, maxHours }: SessionRules, limit: number) => sql<{ id: string }>`
  delete from session where id in (
    select id from session
    where seen_at <= now() - make_interval(mins => ${idleMinutes}::integer)
       or created_at <= now() - make_interval(hours => ${maxHours}::integer)
    limit ${limit})
  returning id`
