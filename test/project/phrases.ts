/** Phrases that must not come back. Readers had to read each of them twice. The better wording stands beside it. */

export interface Phrase {
  readonly banned: RegExp
  /** A sentence that was really there, or a part of one. */
  readonly said: string
  readonly better: string
}

/** Refused in documents, in the sentences of the program and the dashboard, and in comments. */
export const PHRASES: readonly Phrase[] = [
  { said: 'At most so many', banned: /\bso (?:many|much)\b/i, better: 'maximum number of, up to' },
  {
    said: 'given up for so long',
    banned: /\b(?:at most|up to|after|for) so (?:long|far)\b/i,
    better: 'for that time',
  },
  {
    said: 'in a table of its own',
    banned: /\b(?:an?|the|has|have|in|on|with) \w+ of (?:its|their|your|our|one's) own\b/i,
    better: 'its own …, a separate …',
  },
  {
    said: 'Missed while nobody was there',
    banned: /\bnobody (?:was|is) there\b/i,
    better: 'during downtime',
  },
  { said: 'the worker is told', banned: /\b(?:is|are|was|were|be) told\b/i, better: 'gets, is reported' },
  { said: 'make an earlier version hold again', banned: /\bholds? again\b/i, better: 'restore' },
  { said: 'Otherwise than the task says', banned: /\botherwise than\b/i, better: 'overrides' },
  { said: 'There is no such thing', banned: /\bno such thing\b/i, better: 'not found' },
  { said: 'The token was given to no worker', banned: /\bgiven to no \w+/i, better: 'unknown' },
  { said: 'with what they fail of', banned: /\bfails? of\b/i, better: 'their errors' },
  { said: 'Needs attention: Nothing does.', banned: /\bNothing does\b/, better: 'Nothing needs attention' },
  {
    said: 'a node would doubt itself',
    banned: /\bdoubts? (?:itself|themselves)\b/i,
    better: 'its lease may expire',
  },
  { said: 'nothing is met twice', banned: /\bnot met\b|\bmet twice\b/i, better: 'is returned twice' },
  {
    said: 'A run was to be run again that',
    banned: /\bwas to be run again\b/i,
    better: 'the run to be rerun',
  },
  { said: 'what makes up for an outage', banned: /\bm(?:ade?|akes?|aking) up for\b/i, better: 'catch up' },
  {
    said: 'all 1 places of the key',
    banned: /\ball \d+ places\b|\ba free place\b/i,
    better: 'at its limit, a free slot',
  },
  { said: 'what failed for good', banned: /\bfor good\b/i, better: 'permanently' },
  { said: 'kept for ever', banned: /\bfor ever\b/i, better: 'forever' },
  {
    said: 'a row may speak for several',
    banned: /\bspeaks? for (?:several|an?|the|how)\b/i,
    better: 'covers',
  },
  { said: 'an occurrence lies ahead', banned: /\bl(?:ies?|ay) ahead\b/i, better: 'is in the future' },
  {
    said: 'see what became of it',
    banned: /\bwhat (?:became|becomes|came|comes) of\b/i,
    better: 'the result of',
  },
  { said: 'is for the policy to say', banned: /\bis for [^.]{1,40} to say\b/i, better: '… decides' },
  { said: 'what comes to be in front of it', banned: /\bc(?:omes?|ame) to be\b/i, better: 'is created' },
  { said: 'whether it was put right', banned: /\bput right\b/i, better: 'repaired' },
  {
    said: 'in the manner of Standard Webhooks',
    banned: /\bin the manner of\b/i,
    better: 'according to, like',
  },
  {
    said: 'programs that are no browsers',
    banned: /\bthat (?:is|are) no \w+s\b/i,
    better: 'that is not a …',
  },
  {
    said: 'whichever one is asked',
    banned: /\bwhichever (?:one|node) (?:is asked|asks)\b/i,
    better: 'on every node',
  },
  { said: 'No run is like that', banned: /\bis like that\b/i, better: 'no … match these filters' },
  { said: 'What falls inside', banned: /\bwhat falls in\w*\b/i, better: 'occurrences in the window' },
  { said: 'were it not paused', banned: /\bwere it not\b/i, better: 'if it were not' },
  { said: 'one field is not right yet', banned: /\bnot right yet\b/i, better: 'invalid' },
  { said: 'the address is not whole', banned: /\bis not whole\b/i, better: 'incomplete' },
  {
    said: 'one row a run',
    banned:
      /\bone (?!(?:of|for|in) )\w+ an? (?:concept|run|shard|occurrence|attempt|node|commit|file|table)\b/i,
    better: 'one … per …',
  },
]

/** Refused in documents, and in what the program and the dashboard say: help, errors, descriptions of the API, logs, labels. */
export const PHRASES_OF_SENTENCES: readonly Phrase[] = [
  { said: 'an unwatched stretch', banned: /\bstretch(?:es)?\b/i, better: 'period' },
  { said: 'whoever asks', banned: /\bwhoever\b/i, better: 'anyone who, the node that' },
  { said: 'the run goes on', banned: /\b(?:goes|go|going|went) on\b(?! the\b)/i, better: 'continue' },
  { said: 'runs in hand', banned: /\bin hand\b/i, better: 'in progress' },
  { said: 'goes on by itself', banned: /\bby (?:itself|themselves)\b/i, better: 'automatically, separately' },
  {
    said: 'tells how it ended',
    banned: /\btells? (?:of|whether|how|why|which)\b/i,
    better: 'shows, contains',
  },
  { said: 'nodes beat every 5 s', banned: /\bbeats?\b/i, better: 'heartbeat' },
  { said: 'the cadences below', banned: /\bcadences?\b/i, better: 'intervals' },
  { said: 'nowhere stored', banned: /\bnowhere\b/i, better: 'not' },
  { said: 'on the wall time', banned: /\bwall times?\b/i, better: 'wall-clock time' },
  { said: 'a worker of yours', banned: /\bworkers? of (?:your own|yours)\b/i, better: 'your own worker' },
  { said: 'a worker of a user', banned: /\bworker of a user\b/i, better: 'remote worker' },
  { said: 'more than two of its beats', banned: /\b(?:its|the|no) beats?\b/i, better: 'heartbeat' },
  {
    said: 'It stopped beating',
    banned: /\b(?:stopped|stops|keeps?) beating\b|\bcannot beat\b|\bhas not beaten\b/i,
    better: 'send heartbeats',
  },
  {
    said: 'places of the queue',
    banned: /\bplaces? (?:of|in) (?:the|its|a) (?:queue|key|concurrency key|workers?)\b|\bfree places?\b/i,
    better: 'slot, limit',
  },
  {
    said: 'liveness takes runs back',
    banned: /\bt(?:akes?|aken|aking|ook) (?:\w+ ){0,3}back\b/i,
    better: 'reclaimed, undone',
  },
  { said: 'its runs were given to others', banned: /\bgiven to others\b/i, better: 'reclaimed' },
  { said: 'shards changed hands', banned: /\bchanged hands\b/i, better: 'changed owner' },
  { said: 'the log of the server', banned: /\bthe log of the server\b/i, better: 'the server log' },
  { said: 'The disk of PostgreSQL', banned: /\bthe disk of\b/i, better: 'disk space' },
  { said: 'not as Slack wants it', banned: /\bSlack (?:had trouble|wants)\b/i, better: 'not valid' },
  {
    said: 'Each so often, however long runs take',
    banned: /^(?:Each )?so (?:long|often)\b|\bdue so often\b|\blie so far\b/i,
    better: 'interval of, maximum',
  },
  { said: 'Runs a second', banned: /\b(?:runs?|events?) a second\b(?! time)/i, better: 'per second' },
  {
    said: 'must lie after from',
    banned: /\b(?:must|may|to) lie\b|\blies (?:so|in the (?:future|past))\b/i,
    better: 'must be, is',
  },
  {
    said: 'must not hold more than',
    banned: /\bnot hold more than\b|\bmust hold\b/i,
    better: 'contain',
  },
  { said: 'The window that holds now', banned: /\bholds? now\b/i, better: 'is in force, is current' },
  {
    said: 'The log of it tells why',
    banned: /\b(?:says|said|tells?) (?:nothing|so|why|how|when|which|what)\b/i,
    better: 'shows, names',
  },
  { said: 'Nothing says when.', banned: /^Nothing (?:says|tells)\b/, better: 'what is missing' },
  {
    said: 'somebody had asked to skip it',
    banned: /\b(?:somebody|nobody|everybody)\b/i,
    better: 'a user, no scheduler, no one, anyone',
  },
  {
    said: 'no longer in the hands of this worker',
    banned: /\bin (?:the|its) hands\b|\bin hand\b/i,
    better: 'leased, in progress',
  },
  { said: 'is on its way', banned: /\bon (?:its|their) way\b/i, better: 'in progress' },
  { said: 'it ends with 7 when', banned: /\bends with \d\b/i, better: 'exits with' },
  { said: 'belfry task list shows what there is', banned: /\bwhat there is\b/i, better: 'to list tasks: …' },
  { said: 'and put them back', banned: /\bput (?:it |them )?back\b/i, better: 'restore' },
  {
    said: 'No audit has come round',
    banned: /\bcomes? round\b|\bhas come to\b/i,
    better: 'complete, reach',
  },
  {
    said: 'Run a task now, whatever its schedule says',
    banned: /\bwhatever (?:the task|its schedule) says\b/i,
    better: 'independently of',
  },
  {
    said: 'As the task has it',
    banned: /\bas (?:the task|it) (?:has|says) (?:it|them)\b/i,
    better: 'name it',
  },
  {
    said: 'without secrets of their own.',
    banned: /\bof (?:its|their|your) own\b(?! [a-z])/i,
    better: 'its own …',
  },
  {
    said: 'cannot beat; trying again',
    banned: /\b(?:tried|tries|trying) again\b/i,
    better: 'retried, retrying',
  },
  {
    said: 'nextCursor of the page before',
    banned: /\bthe (?:one|page) before\b(?! the)/i,
    better: 'the previous …',
  },
  { said: 'to hear wake-ups from', banned: /\bis heard\b|\bto hear\b|\bhear what\b/i, better: 'is received' },
  {
    said: 'the connection stood still',
    banned: /\b(?:stands?|stood) still\b|\b(?:breaks?|broke|broken) off\b/i,
    better: 'stalled, was interrupted',
  },
  { said: 'at once after a quiet time', banned: /\bquiet times?\b/i, better: 'idle period' },
  {
    said: 'as many as a tenth of a second of the rate',
    banned: /\bas many as an?\b|\bof a second of\b|\bAs many may\b/i,
    better: 'what the rate allows in 100 ms',
  },
  { said: 'runs programs at present', banned: /\bat present\b/i, better: 'currently' },
  { said: 'Why, for people who look at it', banned: /\bpeople who look\b/i, better: 'reason, shown with it' },
  { said: 'All nodes obey within 2 s', banned: /\bobeys?\b(?! the\b)/i, better: 'takes effect, apply' },
  { said: 'TLS from the start', banned: /\bTLS from the start\b/i, better: 'implicit TLS' },
  { said: 'headers are believed', banned: /\bbelieved\b/i, better: 'trusted' },
  {
    said: 'the mask, which stands for a secret',
    banned: /\bstands? for\b|\bonly stand in\b/i,
    better: 'is, means, is allowed in',
  },
  { said: '02:30 comes twice', banned: /\bcomes? twice\b/i, better: 'occurs twice' },
  { said: 'others on the way can read it', banned: /\bothers on the way\b/i, better: 'on the network' },
  { said: 'values encrypted just now', banned: /\bjust now\b/i, better: 'by this request' },
  { said: 'the file has arrived', banned: /\bfile \S* ?has (?:already )?arrived\b/i, better: 'was uploaded' },
  { said: 'who the server takes you for', banned: /\btakes? you for\b/i, better: 'are logged in as' },
  {
    said: 'Its release does not tell its keys',
    banned: /\b(?:does|do|did) not tell\b/i,
    better: 'does not report',
  },
  { said: 'are not signed any more.', banned: /\bany ?more\b/i, better: 'no longer' },
  {
    said: 'Runs continue meanwhile.',
    banned: /\bmeanwhile(?=[.,;:)]|$)/i,
    better: 'in the meantime, during …',
  },
  {
    said: 'Of codes that are not listed, 0 completes',
    banned: /(?:^|\. )Of (?!course\b)/,
    better: 'start with the subject',
  },
  {
    said: 'Only entries from this instant on.',
    banned: /\bfrom (?!now |then )(?:[\w'-]+ ){1,5}on[.,;:)]/i,
    better: 'at or after, later than',
  },
  { said: 'its SHA-256 is not that of the file', banned: /\bis not that of\b/i, better: 'does not match' },
  { said: 'Finished runs, last hour', banned: /\bfinished runs?\b/i, better: 'ended runs' },
  { said: 'nothing of it is due', banned: /\bnothing of it\b/i, better: 'no occurrence' },
  { said: 'as soon as there is room', banned: /\bthere is room\b/i, better: 'as soon as the limit allows' },
  {
    said: 'older nodes take deleted history for lost',
    banned: /\bt(?:akes?|aken|ook) (?:\w+ ){1,3}for lost\b/i,
    better: 'treat as lost',
  },
  {
    said: 'Ask an administrator of Belfry',
    banned: /\badministrators?\b/i,
    better: 'admin, which is the role',
  },
  { said: 'if they shall not', banned: /\bshall\b/i, better: 'to prevent this, must' },
]
