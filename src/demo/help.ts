import { type DemoCommand, shellWord } from './command-line.ts';

/** What `gatehouse demo --help` says. */
export const DEMO_HELP = `gatehouse demo: all five services on this machine, with a demo judge, a scripted model and a demo relay behind them

Usage: gatehouse demo            starts them, and prints commands to copy: ten to try the services, two for the MCP Inspector
       gatehouse demo --check    starts them on free ports, runs the first ten commands, and prints their results and what reached the relay

PORT (default 8000) is the gateway's port, and MODERATION_API_KEY (default: one made for the run) the key of gateway and
bridge. Agent server, bridge, console and relay listen on 4000, 4100, 4200 and 8090, or on any free port when that is taken; all of it on
127.0.0.1. Ctrl-C ends it, and nothing is kept. The judge knows a table of words, the model a script, the relay keeps
nothing when it ends: never use it for real input.
`;

type ClientSettings = {
  readonly node: string;
  readonly program: string;
  readonly relay: string;
  readonly host: string;
  readonly adminKey: string;
  readonly journal: string;
};

/** What most MCP clients take to start the admin tools, on one line. */
export const clientConfiguration = ({ node, program, relay, host, adminKey, journal }: ClientSettings): string => {
  const env = {
    RELAY_BASE_URL: relay,
    RELAY_ALLOWED_HOST: host,
    RELAY_ADMIN_API_KEY: adminKey,
    RELAY_JOURNAL: journal,
  };
  return JSON.stringify({ mcpServers: { 'relay-admin': { command: node, args: [program, 'relay-admin'], env } } });
};

export type DemoAddresses = {
  readonly console: string;
  readonly gateway: string;
  readonly agent: string;
  readonly bridge: string;
  readonly judge: string;
  readonly judgeModel: string;
  readonly model: string;
  /** The scripted model's name, as clients of the bridge see it. */
  readonly modelName: string;
  readonly relay: string;
  /** A user's key for chats at the relay. */
  readonly relayKey: string;
  /** Opens gateway and bridge. */
  readonly key: string;
  readonly adminKey: string;
  /** The configuration for an MCP client, and the file that holds it. */
  readonly client: { readonly file: string; readonly text: string };
  /** Services that are not on their usual port, each with the reason. */
  readonly moved: readonly string[];
};

const commandText = ({ title, line }: DemoCommand): string => `${title}:\n  ${line}\n`;

const inspector = ({ client }: DemoAddresses, directory: string | undefined): string =>
  `${directory === undefined ? '' : `cd ${shellWord(directory)} && `}npx @modelcontextprotocol/inspector --cli --config ${client.file} --server relay-admin`;

/**
 * What a person sees first: that this is a demo, where it is, what to try and how to get real ones. `directory`: where the packages of a
 * clone are found; undefined where there is none.
 */
export const demoBanner = (
  facts: DemoAddresses,
  commands: readonly DemoCommand[],
  directory: string | undefined,
): string => `Open ${facts.console} in a browser: the console, for this machine only.

THIS IS A DEMO: the judge is a table of words, the model a script, the relay a demo. Never use them for real input.

  gateway       ${facts.gateway}   key ${facts.key}
  agent server  ${facts.agent}   no password, this machine only
  bridge        ${facts.bridge}   key ${facts.key}
  console       ${facts.console}   no accounts, this machine only
  relay admin   started by the agent server, as its tool server
  judge         ${facts.judge}   ${facts.judgeModel}
  model         ${facts.model}   ${facts.modelName}
  relay         ${facts.relay}   in memory, no network behind it; demo key ${facts.adminKey}
${facts.moved.map((reason) => `\n  NOTE: ${reason}\n`).join('')}
${commands.map(commandText).join('\n')}
The configuration of an MCP client for the relay admin tools, and a command that lists them:
  ${facts.client.text}
  ${inspector(facts, directory)} --method tools/list
  ${inspector(facts, directory)} --method tools/call --tool-name preview_recharge --tool-args-json '{"user_id":2,"amount":"1.5"}'

For a real judge, run "npm start" (where the package is installed: "gatehouse gateway") with one of
  BACKEND_API_KEYS=<keys of https://ollama.com>          the cloud
  BACKEND_BASE_URL=http://<host>:<port>                  your own Ollama, vLLM, llama.cpp or SGLang server
and MODERATION_API_KEYS=<keys for your clients>. For a real agent, bridge and relay: "gatehouse agent --help", "gatehouse
bridge --help", "gatehouse relay-admin --help". Ctrl-C ends the demo.

`;
