/** Maps addresses to screens. All but the overview are loaded when they are first opened. */
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  notFound,
  redirect,
  retainSearchParams,
} from '@tanstack/react-router'
import { isSignInFailure, type SignInFailure } from '../../src/core/access/sign-in-failure.ts'
import { returnPath } from '../../src/core/values/return-path.ts'
import { type AuditFilters, auditFilters, scopeIn } from '../screens/audit-log/filters.ts'
import { type LetterSearch, letterSearch } from '../screens/dead-letters/search.ts'
import { type FileFilters, fileFilters } from '../screens/files/filters.ts'
import { OverviewScreen } from '../screens/overview/overview-screen.tsx'
import { type RunFilters, runFilters } from '../screens/runs/filters.ts'
import { type TargetFilters, targetFilters } from '../screens/targets/filters.ts'
import { type TaskFilters, taskFilters } from '../screens/tasks/filters.ts'
import { Broken, NothingHere } from './broken.tsx'
import { Frame } from './frame.tsx'
import {
  choiceIn,
  type NameSearch,
  namePartIn,
  parseSearch,
  type RowSearch,
  rowIn,
  sharedSearch,
  stringifySearch,
  textIn,
} from './search.ts'
import { SETTINGS_SECTIONS, type SettingsSection } from './settings-sections.ts'

const root = createRootRoute({
  component: Frame,
  notFoundComponent: NothingHere,
  errorComponent: Broken,
  validateSearch: sharedSearch,
  search: { middlewares: [retainSearchParams(['tz'])] },
})

/** Ranges of the charts on the overview; one hour by default. */
export const CHART_RANGES = ['1h', '5h', '24h', '7d'] as const
export type ChartRange = (typeof CHART_RANGES)[number]

const overview = createRoute({
  getParentRoute: () => root,
  path: '/',
  component: OverviewScreen,
  validateSearch: (search): { range?: ChartRange } => {
    const range = choiceIn(search, 'range', CHART_RANGES)
    return range === undefined || range === '1h' ? {} : { range }
  },
})

const tasks = createRoute({
  getParentRoute: () => root,
  path: '/tasks',
  component: lazyRouteComponent(() => import('../screens/tasks/tasks-screen.tsx'), 'TasksScreen'),
  validateSearch: (search): TaskFilters & RowSearch => ({ ...taskFilters(search), ...rowIn(search) }),
})

/** Kinds of schedule with which the form for a new task can open. */
const START_KINDS = ['words', 'daily', 'cron', 'every', 'delay', 'once', 'manual'] as const
type StartKind = (typeof START_KINDS)[number]

const newTask = createRoute({
  getParentRoute: () => root,
  path: '/tasks/new',
  component: lazyRouteComponent(() => import('../screens/task-form/new-task-screen.tsx'), 'NewTaskScreen'),
  validateSearch: (search): { from?: string; when?: StartKind; file?: string } => {
    const from = textIn(search, 'from')
    const when = choiceIn(search, 'when', START_KINDS)
    const file = textIn(search, 'file')
    return {
      ...(from === undefined ? {} : { from }),
      ...(when === undefined ? {} : { when }),
      ...(file === undefined ? {} : { file }),
    }
  },
})

/** Search parameters of a settings section, including whether the panel that adds something is open. */
interface SettingsSearch extends NameSearch {
  readonly panel?: 'new'
}

export const TASK_TABS = ['runs', 'upcoming', 'ledger', 'backfills', 'versions', 'definition'] as const
export type TaskTab = (typeof TASK_TABS)[number]
/** Panels that open over a task's page. */
export const TASK_PANELS = ['trigger', 'pause', 'skip', 'backfill', 'delete'] as const
export type TaskPanel = (typeof TASK_PANELS)[number]

/** Filters of the ledger; problems by default. */
export const LEDGER_SHOWN = ['problems', 'skipped', 'failed', 'ran'] as const
export type LedgerShown = (typeof LEDGER_SHOWN)[number]

/** Search parameters of a task's page. */
export interface TaskSearch extends RowSearch {
  readonly tab?: TaskTab
  readonly panel?: TaskPanel
  readonly show?: LedgerShown
  /** A past instant about which the page explains why the task was not running. */
  readonly at?: string
}

const task = createRoute({
  getParentRoute: () => root,
  path: '/tasks/$taskId',
  component: lazyRouteComponent(() => import('../screens/task/task-screen.tsx'), 'TaskScreen'),
  validateSearch: (search): TaskSearch => {
    const tab = choiceIn(search, 'tab', TASK_TABS)
    const panel = choiceIn(search, 'panel', TASK_PANELS)
    const show = choiceIn(search, 'show', LEDGER_SHOWN)
    const at = textIn(search, 'at')
    return {
      ...(tab === undefined ? {} : { tab }),
      ...(panel === undefined ? {} : { panel }),
      ...(show === undefined || show === 'problems' ? {} : { show }),
      ...(at === undefined ? {} : { at }),
      ...rowIn(search),
    }
  },
})

const editTask = createRoute({
  getParentRoute: () => root,
  path: '/tasks/$taskId/edit',
  component: lazyRouteComponent(() => import('../screens/task-form/edit-task-screen.tsx'), 'EditTaskScreen'),
})

const runs = createRoute({
  getParentRoute: () => root,
  path: '/runs',
  component: lazyRouteComponent(() => import('../screens/runs/runs-screen.tsx'), 'RunsScreen'),
  validateSearch: (search): RunFilters & RowSearch => ({ ...runFilters(search), ...rowIn(search) }),
})

const run = createRoute({
  getParentRoute: () => root,
  path: '/runs/$runId',
  component: lazyRouteComponent(() => import('../screens/run/run-screen.tsx'), 'RunScreen'),
})

const queues = createRoute({
  getParentRoute: () => root,
  path: '/queues',
  component: lazyRouteComponent(() => import('../screens/queues/queues-screen.tsx'), 'QueuesScreen'),
  validateSearch: (search): NameSearch => namePartIn(search),
})

const queue = createRoute({
  getParentRoute: () => root,
  path: '/queues/$queue',
  component: lazyRouteComponent(() => import('../screens/queues/queue-screen.tsx'), 'QueueScreen'),
})

const files = createRoute({
  getParentRoute: () => root,
  path: '/files',
  component: lazyRouteComponent(() => import('../screens/files/files-screen.tsx'), 'FilesScreen'),
  validateSearch: (search): FileFilters => fileFilters(search),
})

const file = createRoute({
  getParentRoute: () => root,
  path: '/files/$fileId',
  component: lazyRouteComponent(() => import('../screens/files/file-screen.tsx'), 'FileScreen'),
})

const targets = createRoute({
  getParentRoute: () => root,
  path: '/targets',
  component: lazyRouteComponent(() => import('../screens/targets/targets-screen.tsx'), 'TargetsScreen'),
  validateSearch: (search): TargetFilters => targetFilters(search),
})

const target = createRoute({
  getParentRoute: () => root,
  path: '/targets/$target',
  component: lazyRouteComponent(() => import('../screens/targets/target-screen.tsx'), 'TargetScreen'),
})

const auditLog = createRoute({
  getParentRoute: () => root,
  path: '/audit-log',
  component: lazyRouteComponent(() => import('../screens/audit-log/audit-log-screen.tsx'), 'AuditLogScreen'),
  validateSearch: (search): AuditFilters => auditFilters(search),
})

const auditEntry = createRoute({
  getParentRoute: () => root,
  path: '/audit-log/$entryId',
  component: lazyRouteComponent(
    () => import('../screens/audit-log/audit-entry-screen.tsx'),
    'AuditEntryScreen',
  ),
  validateSearch: (search): Pick<AuditFilters, 'scope'> => scopeIn(search),
})

const nodes = createRoute({
  getParentRoute: () => root,
  path: '/nodes',
  component: lazyRouteComponent(() => import('../screens/nodes/nodes-screen.tsx'), 'NodesScreen'),
})

const deadLetters = createRoute({
  getParentRoute: () => root,
  path: '/dead-letters',
  component: lazyRouteComponent(
    () => import('../screens/dead-letters/dead-letters-screen.tsx'),
    'DeadLettersScreen',
  ),
  validateSearch: (search): LetterSearch => letterSearch(search),
})

const settings = createRoute({
  getParentRoute: () => root,
  path: '/settings',
  beforeLoad: () => {
    throw redirect({ to: '/settings/$section', params: { section: SETTINGS_SECTIONS[0] }, replace: true })
  },
})

const settingsSection = createRoute({
  getParentRoute: () => root,
  path: '/settings/$section',
  component: lazyRouteComponent(() => import('../screens/settings/settings-screen.tsx'), 'SettingsScreen'),
  params: {
    parse: ({ section }): { section: SettingsSection } => {
      const known = SETTINGS_SECTIONS.find((name) => name === section)
      if (known === undefined) throw notFound()
      return { section: known }
    },
  },
  validateSearch: (search): SettingsSearch => ({
    ...(search['panel'] === 'new' ? { panel: 'new' } : {}),
    ...namePartIn(search),
  }),
})

const signIn = createRoute({
  getParentRoute: () => root,
  path: '/sign-in',
  component: lazyRouteComponent(() => import('../screens/sign-in/sign-in-screen.tsx'), 'SignInScreen'),
  validateSearch: ({ error, return: path }): { error?: SignInFailure; return?: string } => ({
    ...(isSignInFailure(error) ? { error } : {}),
    ...(returnPath(path) === '/' ? {} : { return: returnPath(path) }),
  }),
})

export const router = createRouter({
  routeTree: root.addChildren([
    signIn,
    overview,
    tasks,
    newTask,
    task,
    editTask,
    runs,
    run,
    deadLetters,
    queues,
    queue,
    files,
    file,
    targets,
    target,
    nodes,
    auditLog,
    auditEntry,
    settings,
    settingsSection,
  ]),
  parseSearch,
  stringifySearch,
  // Removes search parameters that the screen does not know, instead of passing them on to the server.
  search: { strict: true },
  // If a screen fails or its files cannot be loaded, the surrounding shell stays.
  defaultErrorComponent: Broken,
  defaultPreload: 'intent',
  scrollRestoration: true,
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
