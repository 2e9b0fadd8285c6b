/** Which address shows which screen. All but the overview are loaded when they are first opened. */
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  retainSearchParams,
} from '@tanstack/react-router'
import { OverviewScreen } from '../screens/overview/overview-screen.tsx'
import { type RunFilters, runFilters } from '../screens/runs/filters.ts'
import { type TaskFilters, taskFilters } from '../screens/tasks/filters.ts'
import { Broken, NothingHere } from './broken.tsx'
import { choiceIn, parseSearch, sharedSearch, stringifySearch, textIn } from './search.ts'
import { Shell } from './shell.tsx'

const root = createRootRoute({
  component: Shell,
  notFoundComponent: NothingHere,
  errorComponent: Broken,
  validateSearch: sharedSearch,
  search: { middlewares: [retainSearchParams(['tz'])] },
})

const overview = createRoute({ getParentRoute: () => root, path: '/', component: OverviewScreen })

const tasks = createRoute({
  getParentRoute: () => root,
  path: '/tasks',
  component: lazyRouteComponent(() => import('../screens/tasks/tasks-screen.tsx'), 'TasksScreen'),
  validateSearch: (search): TaskFilters => taskFilters(search),
})

const newTask = createRoute({
  getParentRoute: () => root,
  path: '/tasks/new',
  component: lazyRouteComponent(() => import('../screens/task-form/new-task-screen.tsx'), 'NewTaskScreen'),
  validateSearch: (search): { from?: string } => {
    const from = textIn(search, 'from')
    return from === undefined ? {} : { from }
  },
})

export const TASK_TABS = ['runs', 'upcoming', 'ledger', 'definition'] as const
export type TaskTab = (typeof TASK_TABS)[number]

const task = createRoute({
  getParentRoute: () => root,
  path: '/tasks/$taskId',
  component: lazyRouteComponent(() => import('../screens/task/task-screen.tsx'), 'TaskScreen'),
  validateSearch: (search): { tab?: TaskTab } => {
    const tab = choiceIn(search, 'tab', TASK_TABS)
    return tab === undefined ? {} : { tab }
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
  validateSearch: (search): RunFilters => runFilters(search),
})

const run = createRoute({
  getParentRoute: () => root,
  path: '/runs/$runId',
  component: lazyRouteComponent(() => import('../screens/run/run-screen.tsx'), 'RunScreen'),
})

const nodes = createRoute({
  getParentRoute: () => root,
  path: '/nodes',
  component: lazyRouteComponent(() => import('../screens/nodes/nodes-screen.tsx'), 'NodesScreen'),
})

export const router = createRouter({
  routeTree: root.addChildren([overview, tasks, newTask, task, editTask, runs, run, nodes]),
  parseSearch,
  stringifySearch,
  defaultPreload: 'intent',
  scrollRestoration: true,
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
