/**
 * The suites that are not part of `npm test`, because they take long, measure on a quiet machine, or need other programs. A
 * suite has the path of its scenarios, or a module that runs it, or both: then the module gets the path. A path is a file, or
 * a folder with a slash at the end.
 *
 * @typedef {(args: string[], path: string) => Promise<number>} Run returns the exit code
 *
 * @typedef {object} Described
 * @property {string} name
 * @property {string} shows what a run that passes shows, in a sentence
 * @property {string} [lasts] on two cores
 * @property {string} [options] as one types them after the name, in brackets if they can be left out; empty if there are none
 *
 * @typedef {Described & (
 *   { path: string, module?: undefined } | { path?: string, module: () => Promise<{ run: Run }> }
 * )} Suite
 */

/** @type {readonly Suite[]} */
export const SUITES = [
  {
    name: 'promises',
    shows: 'The promised times hold: reclaiming after kill -9, cancelling, stopping, refusing bad input.',
    path: 'test/scenarios/promises.scenario.ts',
  },
  {
    name: 'faults',
    shows:
      'Belfry recovers from failures that npm test does not try: processes, workers and connections that die or hang.',
    path: 'test/faults/',
  },
  {
    name: 'tenants',
    shows: 'Names of another project are answered like unknown ones, over 20 000 random requests.',
    path: 'test/api/tenants/tenants.scenario.ts',
  },
  {
    name: 'fleet',
    shows: 'Remote workers that are killed or hang at any step lose no run, and 200 of them share a server.',
    path: 'test/fleet/',
  },
  {
    name: 'targets',
    shows: 'Calls to a healthy target are on time while other targets hang or fail.',
    path: 'test/targets/',
  },
  {
    name: 'balancer',
    shows: 'The API tests pass with requests alternating between two nodes.',
    lasts: 'about 3 minutes',
    module: () => import('./balancer.mjs'),
  },
  {
    name: 'limits',
    shows: 'The request rate of a project is held within 5 % over three nodes.',
    path: 'test/limits/',
  },
  {
    name: 'planted-bugs',
    shows: 'The checker finds each bug that the suite plants in the program.',
    options: `-- [--rounds 1] [--seed 42] [--only 'the reaper']`,
    path: 'test/checker/planted-bugs.scenario.ts',
    module: () => import('./planted-bugs.mjs'),
  },
  {
    name: 'ledger',
    shows: 'Every occurrence is accounted for after random edits, killed nodes and outages.',
    options: '-- [--rounds 3] [--seed 42] [--acts 800]',
    path: 'test/ledger/random-life.scenario.ts',
    module: () => import('./ledger.mjs'),
  },
  {
    name: 'overlap',
    shows: 'Every overlap policy holds on three nodes under load, one of which dies.',
    options: '-- [--rounds 1] [--seed 42] [--tasks 4] [--seconds 12]',
    path: 'test/scenarios/overlap-matrix.scenario.ts',
    module: () => import('./overlap.mjs'),
  },
  {
    name: 'restarts',
    shows: 'A node catches up within 5 s after restarts of PostgreSQL.',
    path: 'test/scenarios/database-restarts.scenario.ts',
  },
  {
    name: 'lost-answers',
    shows: 'Runs are handed back within 20 s while responses of PostgreSQL are lost.',
    lasts: 'about a minute',
    path: 'test/scenarios/lost-answers.scenario.ts',
  },
  {
    name: 'clocks',
    shows: 'No run is early while clocks of nodes or of the database are wrong. Installs libfaketime.',
    lasts: 'about 2 minutes',
    path: 'test/clocks/',
    module: () => import('./clocks.mjs'),
  },
  {
    name: 'event-loop',
    shows: 'No operation blocks the event loop for too long, even with its largest input.',
    path: 'test/event-loop/',
  },
  {
    name: 'bytes',
    shows: 'Hundreds of tasks with the largest definitions run in a small heap.',
    path: 'test/bytes/',
  },
  {
    name: 'disk-full',
    shows: 'No run is lost when the disk of the database is full. Needs root.',
    path: 'test/storage/disk-full.scenario.ts',
  },
  {
    name: 'programs',
    shows: 'The sandbox contains hostile programs, including those that exhaust the machine.',
    path: 'test/programs/hostile-programs.scenario.ts',
  },
  {
    name: 'addresses',
    shows: 'A task cannot reach a forbidden address in any of the ways that the suite knows.',
    path: 'test/calls/forbidden-addresses.scenario.ts',
  },
  {
    name: 'upgrade',
    shows: 'The last release in releases.json and this build work on one database.',
    path: 'test/scenarios/upgrade.scenario.ts',
    module: () => import('./upgrade.mjs'),
  },
  {
    name: 'postgres',
    shows: `The database tests pass on the system's PostgreSQL, the oldest or a given major version. Installs it.`,
    options: '[16]',
    module: () => import('./postgres.mjs'),
  },
  {
    name: 'pooler',
    shows: 'Two nodes work with PgBouncer in transaction mode. Installs it.',
    path: 'test/pooler/',
    module: () => import('./pooler.mjs'),
  },
  {
    name: 'presets',
    shows: 'The scenarios pass under each preset, or those named.',
    options: '[batch-windows] [minute-cron] [frequent-scan] [small-batches]',
    module: () => import('./presets.mjs'),
  },
  {
    name: 'schedules',
    shows: 'A million schedules in all time zones agree with an oracle.',
    lasts: 'a few minutes',
    options: '-- [--cases 1000000] [--seed 42] [--part 1/5]',
    module: () => import('./schedules.mjs'),
  },
  {
    name: 'guides',
    shows: 'The guides that start their own servers work as they stand on the page.',
    path: 'test/guides/',
  },
  {
    name: 'dashboard',
    shows: 'The parts of the dashboard that npm test leaves out work in a real browser.',
    path: 'test/browser/details/',
  },
  {
    name: 'package',
    shows: 'A package contains what it must, and CommonJS and ES modules can use it.',
    path: 'test/project/package-contents.scenario.ts',
  },
  {
    name: 'fresh-clone',
    shows: 'A bare clone starts with npm start, as root and as an ordinary user.',
    options: '',
    module: () => import('./fresh-clone.mjs'),
  },
]
