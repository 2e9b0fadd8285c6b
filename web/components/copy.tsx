import { Button } from '@mantine/core'
import { useState } from 'react'
import { Icon } from './icon.tsx'

const SAID_MS = 2_000

/** Copies a text and confirms it. */
export function CopyButton({ text, label = 'Copy' }: { readonly text: string; readonly label?: string }) {
  const [isCopied, setCopied] = useState(false)
  // Browsers provide a clipboard only in secure contexts.
  if (!navigator.clipboard) return null
  const copy = async () => {
    await navigator.clipboard.writeText(text)
    setCopied(true)
    setTimeout(() => setCopied(false), SAID_MS)
  }
  return (
    <Button
      variant="default"
      size="xs"
      leftSection={<Icon name={isCopied ? 'check' : 'copy'} size={14} />}
      onClick={() => void copy()}
    >
      {isCopied ? 'Copied' : label}
    </Button>
  )
}
