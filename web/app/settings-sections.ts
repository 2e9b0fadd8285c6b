/** The sections of the settings. */
export const SETTINGS_SECTIONS = [
  'blackouts',
  'subscriptions',
  'secrets',
  'signing-secrets',
  'mail',
  'network',
  'keys',
  'members',
  'limits',
  'retention',
  'projects',
  'installation-members',
  'people',
  'encryption-keys',
] as const
export type SettingsSection = (typeof SETTINGS_SECTIONS)[number]
