/** Selects every task that matches the filter, including those not loaded yet, and counts them first. */
import { Button } from '@mantine/core'
import { useEffect, useRef, useState } from 'react'
import { formatCount } from '../../../src/core/words/time.ts'
import { allTasks, type TaskFilter } from '../../api/tasks.ts'
import { tellFailure } from '../../components/toast.tsx'
import type { Matched } from './selection.ts'

interface SelectMatchingProps {
  readonly filter: TaskFilter
  readonly onFound: (matched: Matched) => void
}

export function SelectMatching({ filter, onFound }: SelectMatchingProps) {
  const [found, setFound] = useState<number | null>(null)
  const reading = useRef<AbortController | null>(null)
  useEffect(() => () => reading.current?.abort(), [])
  const read = async () => {
    const controller = new AbortController()
    reading.current = controller
    const { signal } = controller
    setFound(0)
    try {
      onFound(await allTasks(filter, { signal, onProgress: setFound }))
    } catch (error) {
      if (!signal.aborted) tellFailure(error)
    } finally {
      if (!signal.aborted) setFound(null)
    }
  }
  return (
    <Button size="xs" variant="subtle" disabled={found !== null} onClick={() => void read()}>
      {found === null ? 'Select all matching tasks' : `${formatCount(found)} found so far`}
    </Button>
  )
}
