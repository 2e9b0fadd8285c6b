import { Button } from '@mantine/core'
import { forgetFresh, MAX_FRESH, useFreshCount } from '../api/fresh.ts'
import { queryClient } from '../api/query-client.ts'
import classes from './fresh-rows.module.css'
import { Icon } from './icon.tsx'

/** `12 new ↑`: what has come since, shown when it is asked for, so that nothing moves under the reader's eyes. */
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
