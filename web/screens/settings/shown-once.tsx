import { Button } from '@mantine/core'
import { CopyButton } from '../../components/copy.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { CodeBlock } from '../../components/panel.tsx'
import classes from './settings.module.css'

interface ShownOnceProps {
  readonly title: string
  readonly label: string
  readonly words: string
  readonly text: string
  readonly onClose: () => void
}

/** Shows a secret that was just created and that cannot be read later. */
export function ShownOnce({ title, label, words, text, onClose }: ShownOnceProps) {
  return (
    <Dialog title={title} onClose={onClose}>
      <div className={classes.once}>
        <p>{words} It is not shown again.</p>
        <CodeBlock label={label} text={text} />
        <div className={classes.onceButtons}>
          <CopyButton text={text} />
          <Button onClick={onClose} data-autofocus>
            Done
          </Button>
        </div>
      </div>
    </Dialog>
  )
}
