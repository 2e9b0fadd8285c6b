/** Is everything on time? And before there is anything: how to begin. */
import { useQuery } from '@tanstack/react-query'
import { get } from '../../api/client.ts'
import { REFRESH_MS } from '../../api/tasks.ts'
import type { Page, Task } from '../../api/wire.ts'
import { Failure } from '../../components/failure.tsx'
import { Bones } from '../../components/panel.tsx'
import { useTitle } from '../../components/title.ts'
import { FirstRun } from './first-run.tsx'

export function OverviewScreen() {
  useTitle('Overview')
  const { data, error, refetch } = useQuery({
    queryKey: ['any-task'],
    queryFn: ({ signal }) => get<Page<Task>>('/v1/tasks?limit=1', signal),
    refetchInterval: REFRESH_MS,
  })
  if (error && !data) return <Failure error={error} onRetry={() => void refetch()} />
  if (!data) return <Bones count={3} />
  return <FirstRun />
}
