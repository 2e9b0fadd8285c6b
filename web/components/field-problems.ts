/** What the server said about single fields of a form, for the fields to show. */
import { createContext, useContext } from 'react'
import type { FieldProblem } from '../api/wire.ts'

export const FieldProblems = createContext<readonly FieldProblem[]>([])

/** What is wrong with the field of a pointer, or with an item of it. */
export function useProblem(pointer: string | undefined): string | undefined {
  const problems = useContext(FieldProblems)
  const isMeant = (at: string) => at === pointer || at.startsWith(`${pointer}/`)
  return pointer && problems.find((problem) => isMeant(problem.pointer))?.detail
}
