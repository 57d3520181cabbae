/** What `gatehouse bridge --help` prints. */
export const BRIDGE_HELP = `gatehouse bridge: an OpenAI-style front for an agent server (ours, or another that speaks OpenCode 1.x)

It is configured by environment variables. The ones to start with:

  AGENT_BASE_URL          address of the agent server (default http://127.0.0.1:4000); several with commas between
  AGENT_SERVER_USERNAME   its user (default opencode)
  AGENT_SERVER_PASSWORD   its password
  BRIDGE_API_KEYS         keys that clients may use, separated by commas; without any only this machine is let in
  DEFAULT_MODEL           <provider>/<model key> for requests that name no model
  HOST, PORT              where to listen (default port 4100)

Then point any OpenAI client at http://127.0.0.1:4100/v1

All settings: docs/bridge.md
`;
