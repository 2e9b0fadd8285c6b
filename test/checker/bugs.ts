/**
 * Bugs to plant: each is a change to statements on their way to the database, such as a programming slip could make, with the
 * kind of finding that it must lead to. Statements are recognized by what they do, as loosely as possible; a bug that no longer
 * finds its statement fails its test and says so.
 */
import type { Kind } from './finding.ts'

export interface Edit {
  readonly where: readonly string[]
  readonly unless?: readonly string[]
  readonly change?: readonly (readonly [pattern: string, by: string])[]
  readonly followedBy?: string
  readonly delayMs?: number
  readonly once?: boolean
}

export interface Bug {
  readonly name: string
  /** Kinds of findings that the checker must report, and no others but those in `mayFollow`. */
  readonly kinds: readonly Kind[]
  /** Kinds that may also be found, because of what the bug may do to other runs in turn. */
  readonly mayFollow?: readonly Kind[]
  /** No fault is injected, since a fault would excuse what this bug does. */
  readonly isCalm?: boolean
  /** The bug concerns remote workers. */
  readonly isRemote?: boolean
  /** How late a run may be, when lateness is what the bug is about: the machine may be busy with other tests. */
  readonly lateMs?: number
  /** How long to watch, for bugs that make work go on without end. */
  readonly watchMs?: number
  readonly edits: readonly Edit[]
}

const FIRE = { where: ['from shard', 'update agenda', 'insert into ready'] }
/** Fires that include what an outage has missed. */
const FIRE_MISSED = { where: [...FIRE.where, 'run_for_ms'], unless: ['judged as materialized'] }
const CLAIM = { where: ['delete from ready', 'for update skip locked'], unless: ['from gate'] }
const CLAIM_GATED = { where: ['delete from ready', 'from gate'] }
const END = {
  where: ['delete from agenda', 'insert into run \\(', 'started_ms'],
  unless: ['insert into ready'],
}
const RETRY = { where: ["state = 'retrying'", 'insert into attempt', 'retry_ms'] }
const RECLAIM = { where: ['update agenda', 'insert into ready', "'worker_lost'"] }
const CREATE = { where: ['insert into task \\(', 'insert into agenda'] }
const CANCEL_RUNS = { where: ['update agenda set cancel_at'] }
const SWEEP = { where: ['^\\s*delete from agenda', "state = 'scheduled'", 'returning count_of'] }

const FIRE_WITH_OVERLAP = { where: ['from shard', 'judged as materialized', 'insert into ready'] }
const STOPPED_AMONG = { where: ['select run_id as "runId" from agenda', 'cancel_at is not null$'] }
/** Asks whether a remote worker is alive, when it reports runs that it does not lease. */
const LATEST_CLAIM = { where: ['n\\.dead_at is not null as "isDead"', 'w\\.id = \\$\\d+$'] }
const LEASED_TO = { where: ["worker_id = \\$\\d+ and state = 'running'", '"holdsPlace"'] }

/** Ends of every kind. */
const END_OF_ANY = { where: ['delete from agenda', 'insert into run \\(', 'started_ms'] }

/** About one row in four, by its id. */
const SOME = (id: string) => `right(${id}::text, 1) < '4'`

export const BUGS: readonly Bug[] = [
  {
    name: 'an end is written without comparing its fence',
    kinds: ['stale_accepted'],
    edits: [{ ...END, change: [['a\\.fence = i\\.fence', 'true']] }],
  },
  {
    name: 'a failure is written without comparing its fence',
    kinds: ['stale_accepted'],
    edits: [{ ...RETRY, change: [['a\\.fence = i\\.fence', 'true']] }],
  },
  {
    name: 'a fire does not compare the fence of its shard',
    kinds: ['stale_accepted'],
    edits: [
      {
        ...FIRE,
        change: [
          [
            '\\(id, fence\\) in \\(select \\* from unnest\\((\\$\\d+)::smallint\\[\\], (\\$\\d+)::bigint\\[\\]\\)\\)\\s+and owner = (\\$\\d+)::uuid',
            'id = any($1::smallint[]) and $2::bigint[] is not null and $3::uuid is not null',
          ],
        ],
      },
    ],
  },
  {
    name: 'a worker that was declared dead may claim',
    kinds: ['stale_accepted'],
    edits: [{ ...CLAIM, change: [['and dead_at is null', '']] }],
  },
  {
    name: 'neither a claim nor a taking back raises the fence',
    kinds: ['fence_not_growing'],
    // A suspended worker hands back a run that another worker leases by now, with the same fence.
    mayFollow: ['lost'],
    edits: [
      { ...CLAIM, change: [['fence = a\\.fence \\+ 1', 'fence = a.fence']] },
      { ...RECLAIM, change: [['fence = a\\.fence \\+ 1', 'fence = a.fence']] },
    ],
  },
  {
    name: 'what starts from its fire is also put into ready, and a claim does not look at the state',
    kinds: ['two_winners'],
    edits: [
      {
        ...FIRE,
        change: [
          [
            "from fired where (state = 'pending'|not exists \\(select from alive\\))",
            'from fired where true',
          ],
        ],
      },
      { ...CLAIM, change: [["and a\\.state = 'pending'", "and a.state in ('pending', 'running')"]] },
    ],
  },
  {
    name: 'the reaper takes runs from nodes that live',
    kinds: ['doubled'],
    edits: [
      {
        where: ['select id from node', 'buried_at is null'],
        change: [['where dead_at is not null and buried_at is null', '']],
      },
    ],
  },
  {
    name: 'an idempotency key is forgotten',
    kinds: ['doubled'],
    edits: [
      {
        where: ['select fingerprint', 'from idempotency'],
        change: [['from idempotency where', 'from idempotency where false and']],
      },
      {
        ...CREATE,
        change: [
          [
            'insert into idempotency (.+)\\s+select (\\$\\d+::uuid), (\\$\\d+)',
            'insert into idempotency $1 select $2, $3 || gen_random_uuid()',
          ],
        ],
      },
    ],
  },
  {
    name: 'the clock is half a second ahead',
    kinds: ['early'],
    edits: [
      {
        where: ["date_part\\('epoch', clock_timestamp\\(\\)\\) \\* 1000 as now$"],
        change: [['\\* 1000 as now$', '* 1000 + 500 as now']],
      },
    ],
  },
  {
    name: 'a retry does not wait as long as the receiver wants',
    kinds: ['early'],
    edits: [
      {
        ...RETRY,
        change: [['wake_at = to_timestamp\\(i\\.retry_ms / 1000\\)', 'wake_at = clock_timestamp()']],
      },
    ],
  },
  {
    name: 'a fire is held up for five seconds',
    kinds: ['late'],
    isCalm: true,
    lateMs: 3_000,
    edits: [{ ...FIRE, delayMs: 5_000, once: true }],
  },
  {
    name: 'an end writes two rows of history',
    kinds: ['history_doubled'],
    edits: [
      {
        ...END,
        change: [['output(, error)?\\s+from ended', 'output$1 from ended cross join generate_series(1, 2)']],
      },
    ],
  },
  {
    name: 'a failed attempt is recorded twice',
    kinds: ['history_doubled'],
    edits: [
      {
        ...RETRY,
        change: [
          [
            'from before b join input i on i\\.run_id = b\\.run_id',
            'from before b join input i on i.run_id = b.run_id cross join generate_series(1, 2)',
          ],
        ],
      },
    ],
  },
  {
    name: 'some ends write no history',
    kinds: ['history_missing'],
    edits: [
      {
        ...END,
        change: [['output(, error)?\\s+from ended', `output$1 from ended where not ${SOME('run_id')}`]],
      },
    ],
  },
  {
    name: 'a failed attempt is not recorded',
    kinds: ['history_missing'],
    edits: [
      {
        ...RETRY,
        change: [
          ['from before b join input i on i\\.run_id = b\\.run_id', 'from before b join input i on false'],
        ],
      },
    ],
  },
  {
    name: 'whatever failed is called completed',
    kinds: ['inconsistent'],
    edits: [
      { ...END, change: [['i\\.end_state end as end_state', "'completed'::run_state end as end_state"]] },
    ],
  },
  {
    name: 'an end does not give back its place behind a wide gate',
    kinds: ['inconsistent'],
    edits: [
      {
        ...END,
        change: [['where g\\.id = gates\\.id', 'where g.id = gates.id and coalesce(g.places, 0) < 10']],
      },
    ],
  },
  {
    name: 'a loss is not counted',
    kinds: ['inconsistent'],
    edits: [{ ...RECLAIM, change: [['losses = a\\.losses \\+ 1', 'losses = a.losses']] }],
  },
  {
    name: 'a lost attempt is recorded as begun before its instant',
    kinds: ['early'],
    edits: [
      {
        ...RECLAIM,
        change: [
          [
            'to_timestamp\\(i\\.started_ms / 1000\\) as started_at',
            "a.scheduled_for - interval '20 milliseconds' as started_at",
          ],
        ],
      },
    ],
  },
  {
    name: 'a claim does not count the attempt',
    kinds: ['inconsistent'],
    edits: [{ ...CLAIM_GATED, change: [['attempt = a\\.attempt \\+ 1', 'attempt = a.attempt']] }],
  },
  {
    name: 'the cancellation of a running run is answered and not written',
    kinds: ['inconsistent'],
    edits: [
      {
        ...CANCEL_RUNS,
        change: [['cancel_at = coalesce\\(cancel_at, now\\(\\)\\)', 'cancel_at = cancel_at']],
      },
    ],
  },
  {
    name: 'a claim forgets some of what it took off the lane',
    kinds: ['lost'],
    edits: [
      {
        ...CLAIM,
        change: [["and a\\.state = 'pending'", `and a.state = 'pending' and not ${SOME('a.run_id')}`]],
      },
    ],
  },
  {
    name: 'a task is stored without its first row',
    kinds: ['lost'],
    edits: [
      {
        ...CREATE,
        change: [
          [
            'from input where run_id is not null',
            `from input where run_id is not null and not ${SOME('run_id')}`,
          ],
        ],
      },
    ],
  },
  {
    name: 'a task is answered and then taken back',
    kinds: ['lost'],
    edits: [
      {
        ...CREATE,
        followedBy: `with gone as (delete from task where action_type = 'sleep' returning id) delete from agenda where task_id in (select id from gone)`,
      },
    ],
  },
  {
    name: 'a fire does not always write the next row',
    kinds: ['lost'],
    edits: [
      {
        ...FIRE,
        where: [...FIRE.where, 'next_run_id'],
        change: [
          ['i\\.next_run_id is not null', `i.next_run_id is not null and not ${SOME('i.next_run_id')}`],
        ],
      },
    ],
  },
  {
    name: 'the end of a chain writes no next row',
    kinds: ['lost'],
    edits: [{ ...END, change: [['where e\\.delay_ms is not null', 'where false']] }],
  },
  {
    name: 'a retry loses the run',
    kinds: ['lost'],
    edits: [{ ...RETRY, change: [["set state = 'retrying'", "set state = 'pending'"]] }],
  },
  {
    name: 'what overlaps is dropped without a word',
    kinds: ['lost'],
    edits: [
      {
        ...FIRE,
        where: [...FIRE.where, 'dropped'],
        change: [
          [
            "'skipped'::run_state, reason\\s+from dropped",
            "'skipped'::run_state, reason from dropped where false",
          ],
        ],
      },
    ],
  },
  {
    name: 'what was missed is called an overlap',
    kinds: ['lost'],
    edits: [
      { ...FIRE_MISSED, change: [["'skipped'::run_state, i\\.reason", "'skipped'::run_state, 'overlap'"]] },
    ],
  },
  {
    name: 'the newest of what was missed does not run either',
    kinds: ['lost'],
    edits: [
      {
        ...FIRE_MISSED,
        change: [
          ['reason is null or run_for_ms is not null as runs', 'reason is null as runs'],
          [
            "coalesce\\(i\\.reason, 'overlap'\\) else 'overlap' end",
            "coalesce(i.reason, 'overlap') else i.reason end",
          ],
        ],
      },
    ],
  },
  {
    name: 'the first row is 37 ms off the grid',
    kinds: ['lost', 'unexpected'],
    edits: [
      {
        ...CREATE,
        change: [['to_timestamp\\(due_ms / 1000\\)', 'to_timestamp((due_ms + 37) / 1000)']],
      },
    ],
  },
  {
    name: 'the cancellation of a task leaves its next row',
    kinds: ['unexpected'],
    watchMs: 4_000,
    edits: [
      { ...SWEEP, change: [["state = 'scheduled'", "state = 'scheduled' and false"]] },
      {
        where: ['select count\\(\\*\\)', 'from agenda', 'delay_ms is not null end'],
        change: [['where task_id', 'where false and task_id']],
      },
    ],
  },
  {
    name: 'a gate lets one too many through',
    kinds: ['over_limit'],
    edits: [
      {
        ...CLAIM_GATED,
        change: [
          ['g\\.places - g\\.held as free', 'g.places - g.held + 1 as free'],
          ['g\\.held < g\\.places', 'g.held <= g.places'],
        ],
      },
    ],
  },
  {
    name: 'a queue lets one too many through',
    kinds: ['over_limit'],
    edits: [
      {
        ...CLAIM_GATED,
        change: [
          ['select id, places - held as free from gate', 'select id, places - held + 1 as free from gate'],
          ['queue_gate_id from asked\\) and held < places', 'queue_gate_id from asked) and held <= places'],
        ],
      },
    ],
  },
  {
    name: 'a task may overlap itself',
    kinds: ['over_limit'],
    edits: [
      {
        ...FIRE,
        where: [...FIRE.where, 'exclusive'],
        change: [['where i\\.exclusive and i\\.runs', 'where false and i.runs']],
      },
    ],
  },
  {
    name: 'a gate lets the last in line go first',
    kinds: ['out_of_order'],
    edits: [
      {
        ...CLAIM_GATED,
        change: [
          [
            'order by priority, wake_at, run_id limit o\\.free',
            'order by priority desc, wake_at desc, run_id desc limit o.free',
          ],
        ],
      },
    ],
  },
  {
    name: 'two may wait in a line of one',
    kinds: ['over_limit'],
    edits: [
      {
        ...FIRE_WITH_OVERLAP,
        change: [['coalesce\\(l\\.on_time, 0\\) < i\\.places', 'coalesce(l.on_time, 0) <= i.places']],
      },
    ],
  },
  {
    name: 'in a line of all the last goes first',
    kinds: ['out_of_order'],
    edits: [
      {
        ...FIRE_WITH_OVERLAP,
        change: [
          [
            "\\(o\\.kind = 'catchup', o\\.scheduled_for, o\\.run_id\\) < \\(i\\.is_catchup, i\\.due_at, i\\.run_id\\)",
            'case when i.places > 1 then o.scheduled_for > i.due_at else o.scheduled_for < i.due_at end',
          ],
        ],
      },
    ],
  },
  {
    name: 'a line does not wait for what is active',
    kinds: ['over_limit'],
    edits: [
      { ...FIRE_WITH_OVERLAP, change: [['i\\.task_id not in \\(select task_id from active\\) and', '']] },
    ],
  },
  {
    name: 'what waits is neither woken nor looked at again',
    kinds: ['lost'],
    edits: [
      { ...FIRE_WITH_OVERLAP, change: [["interval '1 millisecond' \\* case", "interval '1 hour' * case"]] },
      { ...END, change: [["where state = 'held' and run_id = any", 'where false and run_id = any']] },
    ],
  },
  {
    name: 'what one takes the place of goes on',
    kinds: ['inconsistent'],
    edits: [
      {
        where: ['update agenda set cancel_at = now\\(\\)', "h\\.state = 'held'"],
        change: [["and h\\.state = 'held'", 'and false']],
      },
    ],
  },
  {
    name: 'what waited and was replaced leaves no row',
    kinds: ['lost'],
    edits: [
      {
        ...FIRE_WITH_OVERLAP,
        change: [
          [
            "'skipped'::run_state, reason\\s+from replaced",
            "'skipped'::run_state, reason from replaced where false",
          ],
        ],
      },
    ],
  },
  {
    name: 'what was told to stop may end as if it had not been',
    kinds: ['inconsistent'],
    edits: [
      {
        ...END,
        change: [
          [
            "case when a\\.cancel_at is not null then 'cancelled'::run_state else i\\.end_state end",
            'i.end_state',
          ],
        ],
      },
      { ...STOPPED_AMONG, change: [['cancel_at is not null$', 'false']] },
    ],
  },
  {
    name: 'the end of a handler counts though the run was taken back',
    kinds: ['stale_accepted'],
    isRemote: true,
    edits: [
      {
        ...LEASED_TO,
        change: [
          [
            '"claimedAt",\\s+fence, attempt',
            '"claimedAt", case when worker_id is null then 2 else fence end as fence, attempt',
          ],
          ["and worker_id = (\\$\\d+) and state = 'running'", 'and (worker_id = $1 or worker_id is null)'],
          ['and dead_at is null', ''],
        ],
      },
      { ...END_OF_ANY, change: [["a\\.fence = i\\.fence and a\\.state = 'running'", 'true']] },
    ],
  },
  {
    name: 'the end of a handler counts though another worker has the run',
    kinds: ['two_winners'],
    isRemote: true,
    edits: [
      {
        ...LEASED_TO,
        change: [
          [
            '"claimedAt",\\s+fence, attempt',
            '"claimedAt", case when worker_id = $2 then fence else 2 end as fence, attempt',
          ],
          [
            "and worker_id = (\\$\\d+) and state = 'running'",
            "and $1::uuid is not null and state = 'running'",
          ],
          ['and dead_at is null', ''],
        ],
      },
      { ...END_OF_ANY, change: [['a\\.fence = i\\.fence', 'true']] },
    ],
  },
  {
    name: 'a worker is told that its end counts, though that of another does',
    kinds: ['two_winners'],
    isRemote: true,
    edits: [
      {
        where: ['from asked i', 'from run r', 'from attempt a'],
        change: [['r\\.fence = i\\.fence and r\\.worker_id = (\\$\\d+)', '$1::uuid is not null']],
      },
      { ...LATEST_CLAIM, change: [['n\\.dead_at is not null', 'false']] },
    ],
  },
]
