/** Columns that several benchmarks show. */
import type { CostPerRun } from './measure.ts'
import type { Percentiles } from './percentiles.ts'
import type { Column } from './report.ts'

export const COST: readonly Column<CostPerRun>[] = [
  { title: 'runs/s', of: (row) => row.runsPerSecond },
  { title: 'CPU µs/run', of: (row) => row.cpuUsPerRun },
  { title: 'database', of: (row) => row.databaseUsPerRun },
  { title: 'node', of: (row) => row.nodeUsPerRun },
  { title: 'WAL B/run', of: (row) => row.walBytesPerRun },
  { title: 'RSS MiB', of: (row) => row.peakMiB },
]

/** Percentiles in milliseconds; each title begins with a word that says what they measure. */
export const percentileColumns = <Row>(
  word: string,
  of: (row: Row) => Percentiles | null,
): readonly Column<Row>[] =>
  (['p50', 'p95', 'p99', 'max'] as const).map((key) => ({
    title: `${word} ${key}`,
    of: (row) => of(row)?.[key] ?? null,
  }))
