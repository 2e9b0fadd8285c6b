/** A text that may be long, with search, line wrapping, copying and downloading. */
import { ActionIcon, Button, TextInput } from '@mantine/core'
import { type KeyboardEvent, useEffect, useRef, useState } from 'react'
import { CopyButton } from './copy.tsx'
import { Icon } from './icon.tsx'
import panel from './panel.module.css'
import { firstTrouble, MOST_MARKS, piecesOf } from './text-search.ts'
import classes from './text-view.module.css'

/** Shorter texts get no tools. */
const LONG_CHARACTERS = 400
const LONG_LINES = 8

interface TextViewProps {
  readonly text: string
  readonly label: string
  /** File name of the download. */
  readonly fileName: string
  /** Whether the text is still growing: the view then stays at the end while the user is there. */
  readonly isGrowing?: boolean
}

export function TextView({ text, label, fileName, isGrowing = false }: TextViewProps) {
  const [words, setWords] = useState('')
  const [isWrapped, setWrapped] = useState(true)
  const [current, setCurrent] = useState(0)
  const pieces = piecesOf(text, words)
  const count = pieces.filter(({ hit }) => hit !== null).length
  const at = count === 0 ? -1 : ((current % count) + count) % count
  const block = useRef<HTMLPreElement>(null)
  const isAtEnd = useRef(true)
  useEffect(() => {
    if (at >= 0 && words !== '')
      block.current?.querySelector('[data-current]')?.scrollIntoView({ block: 'nearest' })
  }, [at, words])
  // biome-ignore lint/correctness/useExhaustiveDependencies: it follows the text as it grows.
  useEffect(() => {
    if (isGrowing && isAtEnd.current) block.current?.scrollTo({ top: block.current.scrollHeight })
  }, [text, isGrowing])
  const trouble = firstTrouble(text)
  const isLong = isGrowing || text.length > LONG_CHARACTERS || text.split('\n').length > LONG_LINES
  const find = (wanted: string) => {
    setWords(wanted)
    setCurrent(0)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Enter') return
    event.preventDefault()
    setCurrent(at + (event.shiftKey ? -1 : 1))
  }
  return (
    <div className={classes.view}>
      {isLong && (
        <div className={classes.tools}>
          <TextInput
            size="xs"
            className={classes.search}
            aria-label={`Search in ${label}`}
            placeholder="Search"
            leftSection={<Icon name="search" size={14} />}
            value={words}
            onChange={(event) => find(event.currentTarget.value)}
            onKeyDown={onKeyDown}
          />
          {words !== '' && (
            <span className={classes.count} role="status">
              {count === 0 ? 'No matches' : `${at + 1} of ${count}${count === MOST_MARKS ? '+' : ''}`}
            </span>
          )}
          {count > 1 && (
            <>
              <ActionIcon
                size="md"
                variant="default"
                aria-label="Previous match"
                onClick={() => setCurrent(at - 1)}
              >
                <Icon name="up" size={14} />
              </ActionIcon>
              <ActionIcon
                size="md"
                variant="default"
                aria-label="Next match"
                onClick={() => setCurrent(at + 1)}
              >
                <Icon name="down" size={14} />
              </ActionIcon>
            </>
          )}
          {trouble !== null && words === '' && (
            <Button size="xs" variant="default" onClick={() => find(trouble)}>
              First error
            </Button>
          )}
          <span className={classes.push} />
          <Button size="xs" variant="default" aria-pressed={isWrapped} onClick={() => setWrapped(!isWrapped)}>
            {isWrapped ? 'Unwrap lines' : 'Wrap lines'}
          </Button>
          <CopyButton text={text} />
          <Button size="xs" variant="default" onClick={() => download(text, fileName)}>
            Download
          </Button>
        </div>
      )}
      <pre
        ref={block}
        className={`${panel.code} ${isWrapped ? '' : classes.unwrapped}`}
        role="region"
        aria-label={label}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard.
        tabIndex={0}
        onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
          isAtEnd.current = scrollTop + clientHeight >= scrollHeight - 8
        }}
      >
        {pieces.map(({ text, hit, at: place }) =>
          hit === null ? (
            text
          ) : (
            <mark key={place} className={classes.hit} data-current={hit === at || undefined}>
              {text}
            </mark>
          ),
        )}
      </pre>
    </div>
  )
}

/** Downloads the text through a blob URL, because the page's policy allows no data URLs. */
function download(text: string, fileName: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/plain' }))
  const link = document.createElement('a')
  link.href = url
  link.download = fileName
  link.click()
  URL.revokeObjectURL(url)
}
