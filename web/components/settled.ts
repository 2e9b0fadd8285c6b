import { useEffect, useState } from 'react'

/** A value once it has not changed for a while, as when somebody has stopped typing. */
export function useSettled<T>(value: T, quietMs: number): T {
  const [settled, setSettled] = useState(value)
  const text = JSON.stringify(value)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the text stands for the value, which is new each time.
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), quietMs)
    return () => clearTimeout(timer)
  }, [text, quietMs])
  return settled
}
