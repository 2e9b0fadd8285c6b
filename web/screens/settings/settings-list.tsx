/** Building blocks for the lists in the settings. */
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
  /** Label of the button that adds an item, if the user may add one. */
  readonly add?: string | undefined
  readonly onAdd?: () => void
  /** Content above the list. */
  readonly children?: ReactNode
}

/** A list of items and a button that adds one. */
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

/** The label of a button and its action. */
export type Act = readonly [label: string, act: () => void]

interface RowProps {
  readonly name: string
  /** What its buttons call it, where several have the same name. */
  readonly called?: string
  /** Lines below the name. */
  readonly about?: readonly ReactNode[]
  /** Actions on the item. */
  readonly acts?: readonly (Act | false)[]
  /** The state of the item. */
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

/** A line about the state of an item. */
export function Small({ children }: { readonly children: ReactNode }) {
  return <span className={classes.small}>{children}</span>
}
