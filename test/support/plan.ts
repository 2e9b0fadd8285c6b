/** How the database goes about a statement: what it reads, and how much of it. */
import type { Queryable } from '../../src/store/database/database.ts'
import type { Statement } from '../../src/store/database/sql.ts'

interface PlanNode {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Rows Removed by Index Recheck'?: number
  readonly 'Shared Hit Blocks': number
  readonly 'Shared Read Blocks': number
  readonly Plans?: readonly PlanNode[]
}

export interface Plan {
  /** Tables of more than a few pages that were read from end to end. */
  readonly tablesRead: readonly string[]
  /** Rows of tables that were looked at, whether they were wanted or not. */
  readonly rows: number
  readonly pages: number
}

/**
 * Up to here reading the whole table is the best plan there is, and whether a table
 * is that short may depend on when it was last vacuumed.
 */
const FEW_PAGES = 32

/** Explains a statement by running it. */
export async function planOf(db: Queryable, { text, values }: Statement<unknown>): Promise<Plan> {
  const [row] = await db.run<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>({
    text: `explain (analyze, buffers, timing off, format json) ${text}`,
    values,
  })
  const root = row?.['QUERY PLAN'][0].Plan as PlanNode
  const tablesRead: string[] = []
  let rows = 0
  const visit = (node: PlanNode) => {
    const table = node['Relation Name']
    const removed = (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0)
    if (table !== undefined) {
      rows += (node['Actual Rows'] + removed) * node['Actual Loops']
      const pages = ownPages(node) / Math.max(1, node['Actual Loops'])
      if (node['Node Type'] === 'Seq Scan' && pages > FEW_PAGES) tablesRead.push(table)
    }
    for (const child of node.Plans ?? []) visit(child)
  }
  visit(root)
  return { tablesRead, rows: Math.round(rows), pages: pagesOf(root) }
}

const pagesOf = (node: PlanNode) => node['Shared Hit Blocks'] + node['Shared Read Blocks']

/** PostgreSQL counts what the parts of a node read, also of other tables, as read by the node. */
const ownPages = ({ Plans = [], ...node }: PlanNode) =>
  pagesOf(node) - Plans.reduce((sum, part) => sum + pagesOf(part), 0)
