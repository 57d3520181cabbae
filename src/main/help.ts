/** What the agent server's program, and the commands beside it, say of themselves. */
export const AGENT_HELP = `gatehouse agent: sessions and messages with a model that can call tools, under permission rules

Usage: gatehouse agent                                 the server
       gatehouse agent sessions [--limit N] [--json]   lists the newest sessions (50), each with what it holds
       gatehouse agent export <session>                writes a session and those under it to standard output, as JSON
       gatehouse agent import <file | -> [--new-ids]   keeps what was exported, and prints the id of the session
       gatehouse agent prune --older-than 30d | --keep 1000 [--dry-run]
                                                       removes sessions for good, with those under them

The server is configured by a file and by environment variables. The ones to start with:

  AGENT_CONFIG            the configuration: providers, models, agents, tool servers, permissions (default ./agent.json)
  AGENT_CONFIG_CONTENT    the same as a text, over what the file says
  AGENT_SERVER_PASSWORD   what clients must know; without it, and without HOST, only this machine is let in
  AGENT_SERVER_USERNAME   the user that goes with it (default opencode)
  AGENT_DATABASE_URL      where sessions are kept (default sqlite:./data/agent.db); the commands use it too
  HOST, PORT              where to listen (default 127.0.0.1, or 0.0.0.0 with a password; 4000)

A list and an export only read, also beside a server that runs. An export holds what was said in full: keep it like
the database itself.

An import refuses ids that are taken; --new-ids gives every session, message and part another one. A server that runs
goes on meanwhile, and shows what was imported once it is whole, but tells nobody of it who listens already. Sessions
bring their own permission rules along: look at the document first when it is not your own.

A prune counts a session with all that are under it as one, by the last change in any of them. --older-than takes m, h, d
or w; with --keep as well, what either of them says goes. Where an answer is under way everything stays. Look with
--dry-run first: nothing brings back what was removed. A server does the same by itself with AGENT_RETENTION_DAYS and
AGENT_RETENTION_SESSIONS.
`;

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
