/** What `gatehouse agent --help` prints, for the server and for the commands on its sessions. */
export const AGENT_HELP = `gatehouse agent: sessions and messages with a model that can call tools, under permission rules

Usage: gatehouse agent                                 the server
       gatehouse agent sessions [--limit N] [--json]   lists the newest sessions (50), each with its size
       gatehouse agent export <session>                writes a session and its subsessions to standard output, as JSON
       gatehouse agent import <file | -> [--new-ids]   imports an exported session and prints its id
       gatehouse agent prune --older-than 30d | --keep 1000 [--dry-run]
                                                       removes sessions for good, with their subsessions

The server reads a file and environment variables. To start with:

  AGENT_CONFIG            the configuration: providers, models, agents, tool servers, permissions (default ./agent.json)
  AGENT_CONFIG_CONTENT    the same as a text; it overrides the file
  AGENT_SERVER_PASSWORD   the password for clients; without it and without HOST, the server listens on this machine only
  AGENT_SERVER_USERNAME   the user name for clients (default opencode)
  AGENT_DATABASE_URL      where sessions are stored (default sqlite:./data/agent.db); the commands use it too
  HOST, PORT              where to listen (default 127.0.0.1, or 0.0.0.0 with a password; 4000)

sessions and export only read, and can run next to a server. An export contains the whole conversation: protect it like
the database itself.

import refuses ids that exist already; --new-ids gives every session, message and part a new one. A running server shows
the imported session once it is complete, but sends no event about it. Sessions bring their own permission rules: read the
document first when it is not your own.

prune counts a session and all its subsessions as one, with the time of the last change in any of them. --older-than takes
m, h, d or w; with --keep as well, a session is removed when either limit says so. A session whose answer is still running
stays. Try --dry-run first: removed sessions cannot be restored. A server prunes by itself with AGENT_RETENTION_DAYS and
AGENT_RETENTION_SESSIONS.
`;

/** What `gatehouse bridge --help` prints. */
export const BRIDGE_HELP = `gatehouse bridge: an OpenAI-compatible API for an agent server (ours, or another with the OpenCode 1.x API)

Settings are environment variables. To start with:

  AGENT_BASE_URL          address of the agent server (default http://127.0.0.1:4000); several separated by commas
  AGENT_SERVER_USERNAME   its user (default opencode)
  AGENT_SERVER_PASSWORD   its password
  BRIDGE_API_KEYS         keys that clients may use, separated by commas; without any, it listens on this machine only
  DEFAULT_MODEL           <provider>/<model key> for requests that name no model
  HOST, PORT              where to listen (default port 4100)

Then point any OpenAI client at http://127.0.0.1:4100/v1

All settings: docs/bridge.md
`;
