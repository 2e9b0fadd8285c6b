import { useQuery } from '@tanstack/react-query'
import { serverQuery } from '../api/overview.ts'
import classes from './server-line.module.css'

/** Where the data is stored and who can reach the server. Not shown until it is known. */
export function ServerLine() {
  const { data: server } = useQuery(serverQuery)
  if (!server) return <p className={classes.line} aria-hidden="true" />
  const { version, isEmbedded, place } = server.database
  return (
    <p className={classes.line}>
      Database: {isEmbedded ? `embedded PostgreSQL ${version}` : `PostgreSQL ${version}`}
      {place !== null && (isEmbedded ? ', ' : ' at ')}
      <span className={classes.place}>{place}</span>
      {server.isLoopbackOnly && ' · local access only'}
      {server.isOpen && ' · no API key required'}
    </p>
  )
}
