import { useState } from 'react'
import { useMay } from '../../api/me.ts'
import type { Project } from '../../api/wire.ts'
import { TextField } from '../../components/text-field.tsx'
import { ProjectForm, ProjectPart } from './project-form.tsx'

/** The sender of the project's emails, and its mail server. */
export function Mail() {
  return (
    <ProjectPart title="Mail settings">
      {(project) => <MailForm key={JSON.stringify(project.mail)} mail={project.mail} />}
    </ProjectPart>
  )
}

const FIELDS = [
  {
    name: 'from',
    label: 'Sender',
    description: 'For emails that do not name a sender',
    placeholder: 'Shop <shop@example.com>',
  },
  {
    name: 'replyTo',
    label: 'Reply to',
    description: 'For emails that do not name a reply-to address',
    placeholder: 'help@example.com',
  },
  {
    name: 'server',
    label: 'Mail server',
    description: 'The password must be a secret of the project',
    placeholder: 'smtp://shop:{{secret.SMTP_PASSWORD}}@mail.example.com:587',
  },
] as const

function MailForm({ mail }: Pick<Project, 'mail'>) {
  const isSettable = useMay()('administer')
  const [typed, setTyped] = useState({
    from: mail.from ?? '',
    replyTo: mail.replyTo ?? '',
    server: mail.server ?? '',
  })
  const changed = FIELDS.flatMap(({ name }) => {
    const text = typed[name].trim()
    return text === (mail[name] ?? '') ? [] : [[name, text === '' ? null : text] as const]
  })
  return (
    <ProjectForm
      edit={changed.length > 0 ? { mail: Object.fromEntries(changed) } : null}
      what="mail settings"
      isSettable={isSettable}
      hint={
        isSettable
          ? 'Leave a field empty to use the setting of the server.'
          : 'Only admins of the project can change mail settings.'
      }
    >
      {FIELDS.map(({ name, ...field }) => (
        <TextField
          key={name}
          {...field}
          readOnly={!isSettable}
          value={typed[name]}
          pointer={`/mail/${name}`}
          onText={(text) => setTyped({ ...typed, [name]: text })}
        />
      ))}
    </ProjectForm>
  )
}
