/** Of the settings page. */
export const settingsTexts = {
  title: 'Settings',
  version: (version: string): string => `Gatehouse ${version}`,
  parts: 'Parts of the console',
  setUp: 'Configured',
  notSetUp: 'Not configured',
  config: 'Configuration of the agent server',
  configHint: 'Secrets are left out by the server.',
  configUnread: (agent: string): string => `The configuration of ${agent} could not be read.`,
  columns: { service: 'Service', state: 'State', address: 'Address', since: 'Since', reason: 'Reason' },
};

/** Of the tool servers on the settings page. */
export const toolServerTexts = {
  title: 'Tool servers',
  none: 'No tool server is configured',
  unread: (agent: string): string => `The tool servers of ${agent} could not be read.`,
  agent: (number: number): string => `Agent server ${number}`,
  states: {
    connected: 'Connected',
    failed: 'Failed',
    needs_auth: 'Refuses the login',
    disabled: 'Disabled',
  } as Readonly<Record<string, string>>,
  columns: { name: 'Name', agent: 'Of', state: 'State', error: 'Last error' },
};
