/** One target: whether calls start, what delays them, and what can be done. */
import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import { isNotThere } from '../../api/client.ts'
import { queryClient } from '../../api/query-client.ts'
import { resumeTarget, targetKeys, targetQuery } from '../../api/targets.ts'
import type { Target } from '../../api/wire.ts'
import { Failure } from '../../components/failure.tsx'
import { Icon } from '../../components/icon.tsx'
import { Nothing } from '../../components/nothing.tsx'
import { Bones, Panel } from '../../components/panel.tsx'
import { Screen } from '../../components/screen.tsx'
import { useTitle } from '../../components/title.ts'
import { tell, tellFailure } from '../../components/toast.tsx'
import { LimitPanel } from './limit-panel.tsx'
import { PausePanel } from './pause-panel.tsx'
import { TargetFacts } from './target-facts.tsx'
import { TargetMark } from './target-mark.tsx'
import { TargetNodes } from './target-nodes.tsx'
import { LOOK_AGAIN_MS } from './targets-screen.tsx'

const route = getRouteApi('/targets/$target')

export function TargetScreen() {
  const { target: name } = route.useParams()
  useTitle(name)
  const { data: target, error, refetch } = useQuery({ ...targetQuery(name), refetchInterval: LOOK_AGAIN_MS })
  if (error && (!target || isNotThere(error)))
    return isNotThere(error) ? (
      <Nothing words={`Target ${name} is unknown: it was not called recently, and it has no settings.`}>
        <Link to="/targets">All targets</Link>
      </Nothing>
    ) : (
      <Failure error={error} onRetry={() => void refetch()} />
    )
  if (!target) return <Bones count={4} />
  return (
    <Screen
      title={name}
      state={<TargetMark state={target.state} isPattern={target.isPattern} />}
      aside={<Acts target={target} />}
    >
      <TargetFacts target={target} />
      {target.nodes.length > 0 && (
        <Panel title="By node" flush>
          <TargetNodes nodes={target.nodes} />
        </Panel>
      )}
    </Screen>
  )
}

/** Shows the answer at once; lists are refetched. */
export function keepTarget(target: Target): void {
  queryClient.setQueryData(targetKeys.one(target.target), target)
  void queryClient.invalidateQueries({ queryKey: targetKeys.lists })
}

function Acts({ target }: { readonly target: Target }) {
  const [open, setOpen] = useState<'pause' | 'limit' | null>(null)
  const close = () => setOpen(null)
  const resume = async () => {
    try {
      const resumed = await resumeTarget(target.pausedBy ?? target.target)
      if (resumed.target === target.target) keepTarget(resumed)
      else void queryClient.invalidateQueries({ queryKey: targetKeys.ones })
      tell({ text: `${resumed.target} was resumed.` })
    } catch (error) {
      tellFailure(error)
    }
  }
  return (
    <>
      {target.isPaused ? (
        <Button leftSection={<Icon name="resume" size={16} />} onClick={() => void resume()}>
          {target.pausedBy === target.target ? 'Resume' : `Resume ${target.pausedBy}`}
        </Button>
      ) : (
        <Button
          variant="default"
          leftSection={<Icon name="pause" size={16} />}
          onClick={() => setOpen('pause')}
        >
          Pause…
        </Button>
      )}
      <Button variant="default" onClick={() => setOpen('limit')}>
        Set limits…
      </Button>
      {open === 'pause' && <PausePanel target={target} onClose={close} />}
      {open === 'limit' && <LimitPanel target={target} onClose={close} />}
    </>
  )
}
