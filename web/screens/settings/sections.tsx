/** The sections of the settings and the access that each one needs. */
import type { ComponentType } from 'react'
import type { GrantedAccess } from '../../../src/core/access/role.ts'
import type { SettingsSection } from '../../app/settings-sections.ts'
import { Blackouts } from './blackouts.tsx'
import { EncryptionKeys } from './encryption-keys.tsx'
import { Keys } from './keys.tsx'
import { Limits } from './limits.tsx'
import { Mail } from './mail.tsx'
import { InstallationMembers, Members } from './members.tsx'
import { Network } from './network.tsx'
import { People } from './people.tsx'
import { Projects } from './projects.tsx'
import { Retention } from './retention.tsx'
import { Secrets } from './secrets.tsx'
import { SigningSecrets } from './signing-secrets.tsx'
import { Subscriptions } from './subscriptions.tsx'

interface Section {
  readonly label: string
  /** The access right that the section needs. */
  readonly needs: GrantedAccess
  readonly Content: ComponentType
}

type Sections = Readonly<Partial<Record<SettingsSection, Section>>>

/** Ordered by how often they are needed. */
export const OF_PROJECT: Sections = {
  blackouts: { label: 'Blackouts', needs: 'read', Content: Blackouts },
  subscriptions: { label: 'Subscriptions', needs: 'read', Content: Subscriptions },
  secrets: { label: 'Secrets', needs: 'read', Content: Secrets },
  'signing-secrets': { label: 'Signing secrets', needs: 'read', Content: SigningSecrets },
  mail: { label: 'Mail', needs: 'read', Content: Mail },
  network: { label: 'Network', needs: 'read', Content: Network },
  keys: { label: 'API keys', needs: 'administer', Content: Keys },
  members: { label: 'Members', needs: 'administer', Content: Members },
  limits: { label: 'Limits', needs: 'read', Content: Limits },
  retention: { label: 'Retention', needs: 'read', Content: Retention },
}

export const OF_INSTALLATION: Sections = {
  projects: { label: 'Projects', needs: 'read', Content: Projects },
  'installation-members': {
    label: 'Members of all projects',
    needs: 'installation',
    Content: InstallationMembers,
  },
  people: { label: 'People', needs: 'installation', Content: People },
  'encryption-keys': { label: 'Encryption keys', needs: 'inspect', Content: EncryptionKeys },
}

export const SECTIONS: Sections = { ...OF_PROJECT, ...OF_INSTALLATION }
