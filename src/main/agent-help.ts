/** What the agent server's program, and the commands beside it, say of themselves. */
export const AGENT_HELP = `gatehouse agent: sessions and messages with a model that can call tools, under permission rules

Usage: gatehouse agent                                 the server
       gatehouse agent export <session>                writes a session and those under it to standard output, as JSON
       gatehouse agent import <file | -> [--new-ids]   keeps what was exported, and prints the id of the session

The server is configured by a file and by environment variables. The ones to start with:

  AGENT_CONFIG            the configuration: providers, models, agents, tool servers, permissions (default ./agent.json)
  AGENT_CONFIG_CONTENT    the same as a text, over what the file says
  AGENT_SERVER_PASSWORD   what clients must know; without it, and without HOST, only this machine is let in
  AGENT_SERVER_USERNAME   the user that goes with it (default opencode)
  AGENT_DATABASE_URL      where sessions are kept (default sqlite:./data/agent.db); export and import use it too
  HOST, PORT              where to listen (default 127.0.0.1, or 0.0.0.0 with a password; 4000)

An export only reads, also beside a server that runs. It holds what was said in full: keep it like the database itself.

An import refuses ids that are taken; --new-ids gives every session, message and part another one. A server that runs
goes on meanwhile, and shows what was imported once it is whole, but tells nobody of it who listens already. Sessions
bring their own permission rules along: look at the document first when it is not your own.
`;
