/**
 * Side lanes, in which runs wait for room in a line, or separately from the runs of other tasks: registers them, and removes
 * unused ones.
 */
import type { SideLane } from '../../core/run/lane.ts'
import { list, sql } from '../database/sql.ts'

/**
 * Registers side lanes, each with the properties of its base lane, and returns those that exist afterwards: a base lane that is
 * unknown or belongs to a concurrency key gets none.
 */
export const registerSideLanes = (lanes: readonly SideLane[]) => sql<{ id: number }>`
  insert into lane (id, project_id, queue, labels, handler, strict, catchup, base, line, used_at)
  select i.id, l.project_id, l.queue, l.labels, l.handler, l.strict, l.catchup, l.id, i.line, now()
  from unnest(
    ${list(lanes, (l) => l.id)}::bigint[], ${list(lanes, (l) => l.base)}::bigint[], ${list(lanes, (l) => l.line)}::text[]) as i(id, base, line)
  join lane l on l.id = i.base
  order by i.id
  on conflict (id) do update set used_at = now()
  returning id`

/**
 * Removes side lanes that have not been used for `minutes` and in which no run waits. A node that puts runs into a side lane
 * has registered it more recently than that, and the lock on the row keeps the two apart.
 */
export const removeSideLanes = ({ minutes, limit }: { minutes: number; limit: number }) => sql`
  delete from lane where id = any(array(
    select l.id from lane l
    where l.base is not null and l.used_at < now() - make_interval(mins => ${minutes}::integer)
      and not exists (select from ready where lane = l.id)
    limit ${limit} for update skip locked))`
