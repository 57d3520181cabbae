import { VERSION } from './program/version.ts';

/** What `gatehouse --help` prints. */
export const HELP = `gatehouse ${VERSION}: five services around large language models. They moderate texts, run agents with tools,
and control what an agent may do

Usage: gatehouse <command> [options]

  gateway      the moderation gateway: POST /v1/moderations like OpenAI's, judged by a chat model
  agent        sessions with a model that can call tools: the server, and commands for its sessions
  bridge       an OpenAI-compatible API for the agent: chat completions, responses and models
  relay-admin  nine MCP tools for an API-relay platform, on standard input and output
  relay-check  reads the settings of such a platform, and says what passes its moderation
  console      a page in the browser: approvals, moderation, chat, sessions, recharges
  eval         sends a labelled file to a running gateway and prints how well it judges
  demo         all five services on this machine, with a demo judge, a scripted model and a demo relay

Each command has --help. Settings come from environment variables.
`;

/** What `gatehouse gateway --help` prints. */
export const GATEWAY_HELP = `gatehouse gateway: the moderation gateway

Settings are environment variables. To start with:

  MODERATION_API_KEYS   keys that clients may use, separated by commas (with APP_ENV=development, a random one if none is set)
  BACKEND_API_KEYS      keys of the cloud backend (https://ollama.com), separated by commas; or
  BACKEND_BASE_URL      http://host:port of your own Ollama, vLLM, llama.cpp or SGLang server
  MODERATION_MODELS     JSON: the chat model for each alias, such as {"moderation-fast":"gpt-oss:20b"}
  APP_ENV               development | production (default development)
  HOST, PORT            where to listen (default 0.0.0.0, 8000)

Often set later:

  REUSE_PORT            true: other gateways of this machine may listen on the same port (default false)
  MAX_CONCURRENCY       calls to the backend at a time (default 64)
  RATE_LIMIT_RPM        requests a minute for each key (default 0: no limit)
  REQUEST_DEADLINE_MS   time for one request (default 25000)
  MODERATION_SHADOW     JSON: a second judge or policy beside the live one, such as {"alias":"moderation-accurate","share":0.05}
  UNJUDGED_INPUT        error | text | flag: what becomes of input that the alias cannot judge, such as images (default error)
  NO_VERDICT            error | flag: what a client gets when nothing could be judged (default error)
  REDIS_URL             what several replicas share, such as redis://host:6379
  GATEWAY_ADMIN_KEY     a key of its own for state, live feed, checks and resting keys under /admin (default: no such routes)

POST /v1/chat/completions answers as a guard model does, for aliases such as qwen3guard.

Then: curl http://127.0.0.1:8000/v1/moderations -H "Authorization: Bearer <gateway key>" \\
        -H "Content-Type: application/json" -d '{"input":"some text"}'

All settings: docs/moderation-gateway.md
`;

/** What `gatehouse relay-admin --help` prints. */
export const RELAY_ADMIN_HELP = `gatehouse relay-admin: nine MCP tools for an API-relay platform

It uses the Model Context Protocol on standard input and output, so an MCP client starts it. Settings are environment
variables:

  RELAY_BASE_URL        address of the relay, such as http://relay.apps.svc.cluster.local:8080
  RELAY_ALLOWED_HOST    the host of that address: no other host is called
  RELAY_ADMIN_API_KEY   the relay's admin key; without it only describe, health and model_control_options work
  RELAY_MAX_RECHARGE    largest amount of one recharge (default 10000)
  RELAY_TIMEOUT_MS      time for one tool call (default 30000)
  RELAY_JOURNAL         journal of recharges (default ./data/relay-journal.jsonl); keep it on a persistent disk
  RELAY_READ_ONLY       true removes the three tools that change something (default false)

All settings: docs/relay-admin.md
`;

/** What `gatehouse relay-check --help` prints. */
export const RELAY_CHECK_HELP = `gatehouse relay-check: what is open at an API-relay platform whose moderation asks the gateway

Usage: gatehouse relay-check [--settings-only]

It reads the settings of both engines and sends two harmful chats as a user. It prints a line for all that is open, and exits with 0 only
where nothing is. It changes nothing. A chat that is not refused reaches the model; one that is refused is a hit of that user.

  RELAY_BASE_URL, RELAY_ALLOWED_HOST, RELAY_ADMIN_API_KEY   as for relay-admin; the key only has to read
  CHECK_USER_KEY    the key of a user of your own, for the chats; --settings-only sends none
  CHECK_MODEL       a model that this user may use (default gpt-4o-mini)
  CHECK_TEXT        a text that your policy flags (default a threat); random words follow it
  CHECK_THRESHOLD   the largest threshold of your policy (default 0.5)

How to close it: docs/relays.md
`;

/** What `gatehouse agent --help` prints, for the server and for the commands on its sessions. */
export const AGENT_HELP = `gatehouse agent: sessions and messages with a model that can call tools, under permission rules

Usage: gatehouse agent                                 the server
       gatehouse agent sessions [--limit N] [--json]   lists the newest sessions (50), each with its size
       gatehouse agent export <session>                writes a session and its child sessions to standard output, as JSON
       gatehouse agent import <file | -> [--new-ids]   imports an exported session and prints its id
       gatehouse agent prune --older-than 30d | --keep 1000 [--dry-run]
                                                       removes sessions for good, with their child sessions

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
the imported session once it is complete; then clients that reconnect get session.created. Sessions bring their own permission
rules: read the document first when it is not your own.

prune counts a session and all its child sessions as one, with the time of the last change in any of them. --older-than takes
m, h, d or w; with --keep as well, a session is removed when either limit says so. A session whose answer is still running
stays. Try --dry-run first: removed sessions cannot be restored. A server prunes by itself with AGENT_RETENTION_DAYS.
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

/** What `gatehouse console --help` prints. */
export const CONSOLE_HELP = `gatehouse console: what waits for a person, moderation, chat, sessions and recharges, in a browser

Usage: gatehouse console                  the server
       gatehouse console hash-password    asks for a password (or reads it from standard input), and prints its hash

Settings are environment variables. Every one may be missing: the page says what to set. To start with:

  CONSOLE_AGENT_URLS      addresses of agent servers, separated by commas; with AGENT_SERVER_USERNAME and AGENT_SERVER_PASSWORD
  CONSOLE_GATEWAY_URL     address of the moderation gateway; with its GATEWAY_ADMIN_KEY
  CONSOLE_BRIDGE_URL      address of the bridge, for chats; with CONSOLE_BRIDGE_KEY
  RELAY_JOURNAL           the relay admin's journal of recharges
  CONSOLE_USERS           <name>:<viewer, approver or admin>:<hash>, separated by commas; without any, this machine only
  CONSOLE_SECRET          32 characters or more: with it, logins and links outlive a restart
  CONSOLE_NOTIFY_URL      a webhook that receives each open request, with a link to answer it once
  CONSOLE_PUBLIC_URL      the address of the console in those links, such as https://console.example.org
  HOST, PORT              where to listen (default port 4200)

Then open http://127.0.0.1:4200

All settings: docs/console.md
`;
