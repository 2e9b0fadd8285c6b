/**
 * An assembler for the classic BPF programs with which the kernel filters system calls. It supports the few instructions that
 * such a filter needs, and labels instead of jump distances: the kernel expects the number of instructions to skip, at most
 * 255.
 */

/** One instruction, a `struct sock_filter`. */
export interface Instruction {
  readonly code: number
  /** Number of instructions to skip if the comparison is true, and if it is false. */
  readonly ifTrue: number
  readonly ifFalse: number
  readonly operand: number
}

/** BPF_LD | BPF_W | BPF_ABS; BPF_JMP | … | BPF_K; BPF_RET | BPF_K. */
export const OPERATION = {
  load: 0x20,
  equal: 0x15,
  greater: 0x25,
  anyBit: 0x45,
  answer: 0x06,
} as const

export type Comparison = 'equal' | 'greater' | 'anyBit'

export type Line =
  | { readonly kind: 'load'; readonly offset: number }
  | { readonly kind: 'jump'; readonly when: Comparison; readonly operand: number; readonly to: string }
  | { readonly kind: 'answer'; readonly value: number }
  | { readonly kind: 'label'; readonly name: string }

export const load = (offset: number): Line => ({ kind: 'load', offset })
/** Jumps to the label if the comparison with the loaded word is true; otherwise continues with the next line. */
export const jump = (when: Comparison, operand: number, to: string): Line => ({
  kind: 'jump',
  when,
  operand,
  to,
})
export const answer = (value: number): Line => ({ kind: 'answer', value })
export const label = (name: string): Line => ({ kind: 'label', name })

const MAX_SKIPPED = 255
/** The kernel's BPF_MAXINSNS. */
const MAX_INSTRUCTIONS = 4_096
const INSTRUCTION_BYTES = 8

export function assemble(lines: readonly Line[]): readonly Instruction[] {
  const labels = new Map<string, number>()
  let count = 0
  for (const line of lines) {
    if (line.kind === 'label') labels.set(line.name, count)
    else count += 1
  }
  if (count > MAX_INSTRUCTIONS)
    throw new RangeError(`a filter has at most ${MAX_INSTRUCTIONS} instructions, not ${count}`)
  return lines.filter((line) => line.kind !== 'label').map((line, at) => instruction(line, at, labels))
}

function instruction(
  line: Exclude<Line, { kind: 'label' }>,
  at: number,
  labels: ReadonlyMap<string, number>,
): Instruction {
  switch (line.kind) {
    case 'load':
      return { code: OPERATION.load, ifTrue: 0, ifFalse: 0, operand: line.offset }
    case 'answer':
      return { code: OPERATION.answer, ifTrue: 0, ifFalse: 0, operand: line.value }
    case 'jump':
      return {
        code: OPERATION[line.when],
        ifTrue: distance(labels, line.to, at),
        ifFalse: 0,
        operand: line.operand,
      }
  }
}

function distance(labels: ReadonlyMap<string, number>, to: string, from: number): number {
  const target = labels.get(to)
  if (target === undefined) throw new RangeError(`the filter has no label ${to}`)
  const skipped = target - from - 1
  if (skipped < 0 || skipped > MAX_SKIPPED) throw new RangeError(`the jump to ${to} is too far: ${skipped}`)
  return skipped
}

/** Encodes the instructions for the kernel of a little-endian machine. */
export function encode(instructions: readonly Instruction[]): Buffer {
  const bytes = Buffer.alloc(instructions.length * INSTRUCTION_BYTES)
  for (const [i, { code, ifTrue, ifFalse, operand }] of instructions.entries()) {
    const at = i * INSTRUCTION_BYTES
    bytes.writeUInt16LE(code, at)
    bytes.writeUInt8(ifTrue, at + 2)
    bytes.writeUInt8(ifFalse, at + 3)
    bytes.writeUInt32LE(operand, at + 4)
  }
  return bytes
}
