/** A real database of which some statements fail, as they would if the server restarts or detects a deadlock. */
import type { Database } from '../../src/store/database/database.ts'
import type { Statement } from '../../src/store/database/sql.ts'

/** The same database; a statement for which `errorFor` answers an error is not carried out. */
export function failingDatabase(db: Database, errorFor: (text: string) => Error | undefined): Database {
  const run = <Row>(statement: Statement<Row>) => {
    const error = errorFor(statement.text)
    return error === undefined ? db.run(statement) : Promise.reject(error)
  }
  return new Proxy(db, {
    get: (target, name) => {
      if (name === 'run') return run
      const value = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}
