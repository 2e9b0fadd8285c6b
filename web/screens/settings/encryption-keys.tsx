/** The keys that secrets of all projects are encrypted with, the nodes that have them, and how they are replaced. */
import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { encryptionKeysQuery, type EncryptionKeys as Listed } from '../../api/encryption-keys.ts'
import { useMay } from '../../api/me.ts'
import { Panel } from '../../components/panel.tsx'
import { StateMark } from '../../components/state-mark.tsx'
import { heldWords, keyMark, nodeMark, nodeWords, unencryptedWords, usedWords } from './encryption-words.ts'
import { RotateEncryptionKey } from './rotate-encryption-key.tsx'
import classes from './settings.module.css'
import { Row, SettingsList, Small } from './settings-list.tsx'

export function EncryptionKeys() {
  const query = useQuery(encryptionKeysQuery)
  const { data } = query
  return (
    <div className={classes.parts}>
      <SettingsList
        title="Encryption keys"
        query={query}
        items={data?.keys ?? []}
        nothing="No keys yet, so secrets cannot be stored. Print one with belfry secret make-key, and set it as BELFRY_SECRETS_KEY on all nodes."
        row={(key) => (
          <Row key={key.fingerprint} name={key.fingerprint} about={[usedWords(key)]}>
            <KeyState shown={key} nodes={data?.nodes ?? []} />
          </Row>
        )}
      />
      {data && (
        <SettingsList
          title="Nodes"
          query={query}
          items={data.nodes}
          nothing="No nodes are alive."
          row={(node) => (
            <Row key={node.id} name={node.name} about={[nodeWords(node)]}>
              <NodeState node={node} />
            </Row>
          )}
        />
      )}
      {data && <Replacing listed={data} />}
    </div>
  )
}

interface KeyStateProps {
  readonly shown: Listed['keys'][number]
  readonly nodes: Listed['nodes']
}

function KeyState({ shown, nodes }: KeyStateProps) {
  const [state, text] = keyMark(shown, nodes)
  return (
    <>
      <StateMark state={state} text={text} />
      <Small>{heldWords(shown, nodes)}</Small>
    </>
  )
}

function NodeState({ node }: { readonly node: Listed['nodes'][number] }) {
  const [state, text] = nodeMark(node)
  return (
    <>
      <StateMark state={state} text={text} />
      {state === 'failing' && (
        <Small>
          It performs no runs that use secrets, and none at all while signing secrets are encrypted or mail
          settings refer to secrets.
        </Small>
      )}
      {state === 'warning' && <Small>It has all keys in use.</Small>}
    </>
  )
}

/** The steps in their order. All but one are taken on the nodes. */
function Replacing({ listed }: { readonly listed: Listed }) {
  const isAdmin = useMay()('installation')
  const [isAsked, setAsked] = useState(false)
  const plain = unencryptedWords(listed)
  return (
    <Panel title="Replace the key">
      <div className={classes.once}>
        <ol className={classes.steps}>
          <li>
            Print a new key: <code>belfry secret make-key</code>
          </li>
          <li>
            Add it to all nodes as the last key, in <code>BELFRY_SECRETS_KEY</code> or the file of{' '}
            <code>--secrets-key-file</code>.
          </li>
          <li>Make it the first key on all nodes. New values are encrypted with it.</li>
          <li>Rotate: Belfry re-encrypts all existing values with it. Runs continue.</li>
          <li>Remove the old key from all nodes, and keep a backup of the new one.</li>
        </ol>
        {plain !== null && <p>{plain}</p>}
        <div className={classes.save}>
          {isAdmin && listed.keys.length > 0 && (
            <Button variant="default" onClick={() => setAsked(true)}>
              Rotate…
            </Button>
          )}
          {!isAdmin && <Small>Only admins of the installation can rotate the key.</Small>}
        </div>
      </div>
      {isAsked && <RotateEncryptionKey listed={listed} onClose={() => setAsked(false)} />}
    </Panel>
  )
}
