/** The lists that settings are made of. */
import { Button } from '@mantine/core'
import type { ComponentProps, ReactNode } from 'react'
import { Icon } from '../../components/icon.tsx'
import { More, Paged } from '../../components/paged.tsx'
import { Panel } from '../../components/panel.tsx'
import classes from './settings.module.css'

interface SettingsListProps<T> {
  readonly title: string
  readonly query: ComponentProps<typeof Paged>['query']
  readonly items: readonly T[]
  readonly row: (item: T) => ReactNode
  readonly nothing: ReactNode
  /** What the button says that adds one, for whoever may. */
  readonly add?: string | undefined
  readonly onAdd?: () => void
  /** What lies over it. */
  readonly children?: ReactNode
}

/** Things of one kind, below one another, and a button that adds one. */
export function SettingsList<T>({ title, query, items, row, nothing, add, ...props }: SettingsListProps<T>) {
  const button = add && (
    <Button size="xs" variant="default" leftSection={<Icon name="plus" size={14} />} onClick={props.onAdd}>
      {add}
    </Button>
  )
  return (
    <Panel title={title} aside={button} flush>
      <Paged
        query={query}
        count={items.length}
        bones={3}
        nothing={<div className={classes.nothing}>{nothing}</div>}
      >
        <ul aria-label={title} className={classes.list}>
          {items.map(row)}
        </ul>
        <More query={query}>Show more</More>
      </Paged>
      {props.children}
    </Panel>
  )
}

/** The words of a button, and what it does. */
export type Act = readonly [label: string, act: () => void]

interface RowProps {
  readonly name: string
  /** What its buttons call it, where several have the same name. */
  readonly called?: string
  /** Below the name, a line each. */
  readonly about?: readonly ReactNode[]
  /** What can be done to it. */
  readonly acts?: readonly (Act | false)[]
  /** How it stands. */
  readonly children?: ReactNode
}

export function Row({ name, called = name, about = [], acts = [], children }: RowProps) {
  return (
    <li className={classes.row}>
      <div className={classes.main}>
        <strong className={classes.words}>{name}</strong>
        {about.map((line, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: lines have no other name.
          <span key={index} className={classes.small}>
            {line}
          </span>
        ))}
      </div>
      <div className={classes.state}>{children}</div>
      <div className={classes.acts}>
        {acts
          .filter((act) => act !== false)
          .map(([label, act]) => (
            <Button
              key={label}
              size="xs"
              variant="default"
              onClick={act}
              aria-label={`${label.replace('…', '')} ${called}`}
            >
              {label}
            </Button>
          ))}
      </div>
    </li>
  )
}

/** A line of how something stands. */
export function Small({ children }: { readonly children: ReactNode }) {
  return <span className={classes.small}>{children}</span>
}
