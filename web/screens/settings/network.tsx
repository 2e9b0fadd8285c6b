/** Which private networks the calls of a project can reach. */

import { Button, CloseButton, NativeSelect, TextInput } from '@mantine/core'
import { useContext, useRef, useState } from 'react'
import { MAX_NETWORKS } from '../../../src/core/values/network.ts'
import { useMay } from '../../api/me.ts'
import type { Project } from '../../api/wire.ts'
import { FieldProblems } from '../../components/field-problems.ts'
import { Icon } from '../../components/icon.tsx'
import { TextField } from '../../components/text-field.tsx'
import {
  entriesOf,
  type NetworkFields,
  networkEdit,
  networkFields,
  problemsByText,
  REACHES,
} from './network-fields.ts'
import { ProjectForm, ProjectPart } from './project-form.tsx'
import classes from './settings.module.css'

export function Network() {
  return (
    <ProjectPart title="Network">
      {({ network }) => <NetworkForm key={JSON.stringify(network)} allowed={network.allowedPrivate} />}
    </ProjectPart>
  )
}

const REACH = {
  label: 'Private networks that can be reached',
  description: 'By calls and subscriptions of this project, within those that the installation allows.',
}
const OFFERED = Object.entries(REACHES).map(([value, label]) => ({ value, label }))

function NetworkForm({ allowed }: { readonly allowed: Project['network']['allowedPrivate'] }) {
  const isSettable = useMay()('installation')
  const [fields, setFields] = useState(() => networkFields(allowed))
  const edit = networkEdit(allowed, fields)
  return (
    <ProjectForm
      edit={edit && { network: edit }}
      what="network settings"
      isSettable={isSettable}
      hint={
        isSettable
          ? 'Nodes apply a change within five seconds. Public addresses are not affected.'
          : 'Only admins of the installation can change network settings.'
      }
    >
      {isSettable ? (
        <NativeSelect
          {...REACH}
          value={fields.reach}
          data={OFFERED}
          onChange={(event) =>
            setFields({ ...fields, reach: event.currentTarget.value as NetworkFields['reach'] })
          }
        />
      ) : (
        <TextInput {...REACH} readOnly value={REACHES[fields.reach]} />
      )}
      {fields.reach === 'list' && (
        <Networks
          networks={fields.networks}
          isReadOnly={!isSettable}
          onChange={(networks) => setFields({ ...fields, networks })}
        />
      )}
    </ProjectForm>
  )
}

/** Called once, when the field that was asked for is there. */
const takeFocus = (field: HTMLInputElement | null) => field?.focus()

interface NetworksProps {
  readonly networks: readonly string[]
  readonly isReadOnly: boolean
  readonly onChange: (networks: readonly string[]) => void
}

/** A field for each network, so that each shows what is wrong with it. */
function Networks({ networks, isReadOnly, onChange }: NetworksProps) {
  const problems = useContext(FieldProblems)
  const [judged, setJudged] = useState({ problems, byText: problemsByText(problems, entriesOf(networks)) })
  if (judged.problems !== problems)
    setJudged({ problems, byText: problemsByText(problems, entriesOf(networks)) })
  const [added, setAdded] = useState<number | null>(null)
  const adder = useRef<HTMLButtonElement>(null)
  const remove = (index: number) => {
    onChange(networks.toSpliced(index, 1))
    // The button that was pressed goes, or is that of another network from now on.
    adder.current?.focus()
  }
  return (
    <fieldset className={classes.networks}>
      <legend>Networks</legend>
      {networks.map((text, index) => (
        <TextField
          // biome-ignore lint/suspicious/noArrayIndexKey: networks have no other name while they are typed.
          key={index}
          aria-label={`Network ${index + 1}`}
          placeholder="10.1.0.0/16"
          readOnly={isReadOnly}
          {...(index === added ? { ref: takeFocus } : {})}
          value={text}
          error={judged.byText.get(text.trim())}
          onText={(typed) => onChange(networks.with(index, typed))}
          rightSection={
            !isReadOnly &&
            networks.length > 1 && (
              <CloseButton
                size="sm"
                aria-label={`Remove network ${index + 1}`}
                onClick={() => remove(index)}
              />
            )
          }
        />
      ))}
      {!isReadOnly && networks.length < MAX_NETWORKS && (
        <Button
          ref={adder}
          size="xs"
          variant="default"
          leftSection={<Icon name="plus" size={14} />}
          onClick={() => {
            setAdded(networks.length)
            onChange([...networks, ''])
          }}
        >
          Add network
        </Button>
      )}
    </fieldset>
  )
}
