import { targetStateWords } from '../../../src/core/words/target.ts'
import type { TargetState } from '../../api/wire.ts'
import type { AnyState } from '../../components/state.ts'
import { StateMark } from '../../components/state-mark.tsx'

/** The state of a target uses the shape and colour of the run state that matches it. */
const LOOK_LIKE: Readonly<Record<TargetState, AnyState>> = {
  available: 'completed',
  rate_limited: 'pending',
  full: 'pending',
  circuit_open: 'failing',
  paused: 'paused',
}

interface TargetMarkProps {
  readonly state: TargetState
  readonly isPattern?: boolean
}

export function TargetMark({ state, isPattern = false }: TargetMarkProps) {
  if (isPattern && state === 'available') return <StateMark state="never_ran" text="pattern" />
  return <StateMark state={LOOK_LIKE[state]} text={targetStateWords(state)} />
}
