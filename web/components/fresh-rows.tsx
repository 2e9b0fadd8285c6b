import { Button } from '@mantine/core'
import { forgetFresh, MAX_FRESH, useFreshCount } from '../api/fresh.ts'
import { queryClient } from '../api/query-client.ts'
import classes from './fresh-rows.module.css'
import { Icon } from './icon.tsx'

/** The button `12 new ↑`: new rows are inserted only on request, so that the list does not move while it is being read. */
export function FreshRows({ queryKey }: { readonly queryKey: readonly unknown[] }) {
  const count = useFreshCount(queryKey)
  if (count === 0) return null
  const show = async () => {
    forgetFresh(queryKey)
    window.scrollTo({ top: 0 })
    await queryClient.resetQueries({ queryKey, exact: true })
  }
  return (
    <div className={classes.place}>
      <Button size="xs" radius="xl" rightSection={<Icon name="up" size={14} />} onClick={() => void show()}>
        {count < MAX_FRESH ? count : `${MAX_FRESH}+`} new
      </Button>
    </div>
  )
}
