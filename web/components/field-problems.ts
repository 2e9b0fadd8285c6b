/** Provides the server's problems with single fields to the fields of a form. */
import { createContext, useContext } from 'react'
import type { FieldProblem } from '../api/wire.ts'

export const FieldProblems = createContext<readonly FieldProblem[]>([])

/** The problem with the field of a JSON pointer, or with one of its items. */
export function useProblem(pointer: string | undefined): string | undefined {
  const problems = useContext(FieldProblems)
  const isMeant = (at: string) => at === pointer || at.startsWith(`${pointer}/`)
  return pointer && problems.find((problem) => isMeant(problem.pointer))?.detail
}
