import { useEffect, useState } from 'react'

/** Returns the value once it has not changed for a while, such as when the user has stopped typing. */
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
