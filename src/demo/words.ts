/** What `gatehouse demo --help` says. */
export const DEMO_HELP = `gatehouse demo: a moderation gateway with a toy judge, and a toy relay for the admin tools, on this machine

It takes no arguments. PORT (default 8000) and MODERATION_API_KEY (default: one made for the run) are read from the
environment. The relay listens on 8090, or on any free port when that is taken. Ctrl-C ends it. The judge knows a table of
words and no more, the relay forgets everything when it ends: never use it for real input.
`;

export type ClientFacts = {
  readonly node: string;
  readonly program: string;
  readonly relay: string;
  readonly host: string;
  readonly adminKey: string;
  readonly journal: string;
};

/** What most MCP clients take to start the admin tools, on one line. */
export const clientConfiguration = ({ node, program, relay, host, adminKey, journal }: ClientFacts): string => {
  const env = {
    RELAY_BASE_URL: relay,
    RELAY_ALLOWED_HOST: host,
    RELAY_ADMIN_API_KEY: adminKey,
    RELAY_JOURNAL: journal,
  };
  return JSON.stringify({ mcpServers: { 'relay-admin': { command: node, args: [program, 'relay-admin'], env } } });
};

export type DemoFacts = {
  readonly address: string;
  readonly judge: string;
  readonly key: string;
  readonly model: string;
  readonly relay: string;
  readonly adminKey: string;
  /** The configuration for an MCP client, and the file that holds it. */
  readonly client: { readonly file: string; readonly text: string };
};

const curl = ({ address, key }: DemoFacts, text: string): string =>
  `curl -s ${address}/v1/moderations -H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json' -d '${JSON.stringify({ input: text })}'`;

/** What a person sees first: that this is a demo, where it is, what to try and how to get real ones. */
export const demoBanner = (
  facts: DemoFacts,
): string => `THIS IS A DEMO: the judge is a table of words, not a model, and the relay a toy. Never use them for real input.

  gateway   ${facts.address}   key ${facts.key}
  judge     ${facts.judge}   model ${facts.model}
  relay     ${facts.relay}   in memory, no network behind it; demo key ${facts.adminKey}

A text that is flagged:
  ${curl(facts, 'I will kill you')}

A text that is clean:
  ${curl(facts, 'How do I kill a zombie process?')}

The relay admin tools, as an MCP client is told of them, and a line that lists them:
  ${facts.client.text}
  npx @modelcontextprotocol/inspector --cli --config ${facts.client.file} --server relay-admin --method tools/list
  npx @modelcontextprotocol/inspector --cli --config ${facts.client.file} --server relay-admin --method tools/call --tool-name preview_recharge --tool-args-json '{"user_id":2,"amount":"1.5"}'

For a real judge, run "npm start" (where the package is installed: "gatehouse gateway") with one of
  BACKEND_API_KEYS=<keys of https://ollama.com>          the cloud
  BACKEND_BASE_URL=http://<host>:<port>                  your own Ollama, vLLM, llama.cpp or SGLang server
and MODERATION_API_KEYS=<keys for your clients>. For a real relay: "gatehouse relay-admin --help". Ctrl-C ends the demo.

`;
