import { Kbd } from '@mantine/core'
import '@mantine/core/styles/Kbd.css'
import { Dialog } from '../components/dialog.tsx'
import classes from './shortcut-list.module.css'
import { SHORTCUTS } from './shortcuts.ts'

export function ShortcutList({ onClose }: { readonly onClose: () => void }) {
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      <dl className={classes.list}>
        {SHORTCUTS.map(({ keys, does }) => (
          <div key={does} className={classes.row}>
            <dt>
              {keys.map((key) => (
                <Kbd key={key}>{key}</Kbd>
              ))}
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  )
}
