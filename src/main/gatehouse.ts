import { BRIDGE_HELP } from './help.ts';
import { VERSION } from './version.ts';

const HELP = `gatehouse ${VERSION}: stands in front of large language models and decides what passes

Usage: gatehouse <command> [options]

  gateway      the moderation gateway: POST /v1/moderations like OpenAI's, judged by a chat model
  agent        sessions with a model that can call tools: the server, and commands for its sessions
  bridge       an OpenAI-compatible API for the agent: chat completions, responses and models
  relay-admin  nine MCP tools for an API-relay platform, on standard input and output
  eval         sends a labelled file to a running gateway and prints how well it judges
  demo         all four services on this machine, with a demo judge, a scripted model and a demo relay

Each command has --help. Settings come from environment variables.
`;

const GATEWAY_HELP = `gatehouse gateway: the moderation gateway

Settings are environment variables. To start with:

  MODERATION_API_KEYS   keys that clients may use, separated by commas (with APP_ENV=development, a random one if none is set)
  BACKEND_API_KEYS      keys of the cloud backend (https://ollama.com), separated by commas; or
  BACKEND_BASE_URL      http://host:port of your own Ollama, vLLM, llama.cpp or SGLang server
  MODERATION_MODELS     JSON: the chat model for each alias, such as {"moderation-fast":"gpt-oss:20b"}
  APP_ENV               development | production (default development)
  HOST, PORT            where to listen (default 0.0.0.0, 8000)

Then: curl http://127.0.0.1:8000/v1/moderations -H "Authorization: Bearer <gateway key>" \\
        -H "Content-Type: application/json" -d '{"input":"some text"}'

All settings: docs/moderation-gateway.md
`;

const RELAY_ADMIN_HELP = `gatehouse relay-admin: nine MCP tools for an API-relay platform

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

const wantsHelp = (args: readonly string[]): boolean => args.some((arg) => arg === '--help' || arg === '-h');

const refuse = (message: string): void => {
  process.stderr.write(`gatehouse: ${message}\n`);
  process.exitCode = 1;
};

// Each command is a bundle of its own next to this one, so that a start loads only what it runs.
const runGateway = async (args: readonly string[]): Promise<void> => {
  if (wantsHelp(args)) process.stdout.write(GATEWAY_HELP);
  else if (args.length > 0)
    refuse(`gateway takes no arguments, only environment variables; see gatehouse gateway --help`);
  else await (await import('./gateway.node.ts')).main();
};

const runBridge = async (args: readonly string[]): Promise<void> => {
  if (wantsHelp(args)) process.stdout.write(BRIDGE_HELP);
  else if (args.length > 0)
    refuse(`bridge takes no arguments, only environment variables; see gatehouse bridge --help`);
  else await (await import('./bridge.ts')).main();
};

const runRelayAdmin = async (args: readonly string[]): Promise<void> => {
  if (wantsHelp(args)) process.stdout.write(RELAY_ADMIN_HELP);
  else if (args.length > 0)
    refuse(`relay-admin takes no arguments, only environment variables; see gatehouse relay-admin --help`);
  else await (await import('./relay-admin.ts')).main();
};

const runAgent = async (args: readonly string[]): Promise<void> => {
  if (args.length === 0) return (await import('./agent.ts')).main();
  process.exitCode = await (await import('./agent-command.ts')).runAgentCommand(args);
};

const run = async ([command, ...args]: readonly string[]): Promise<void> => {
  if (command === 'gateway') return runGateway(args);
  if (command === 'agent') return runAgent(args);
  if (command === 'bridge') return runBridge(args);
  if (command === 'relay-admin') return runRelayAdmin(args);
  if (command === 'eval') {
    process.exitCode = await (await import('./eval.ts')).runEval(args);
    return;
  }
  if (command === 'demo') return (await import('./demo.ts')).runDemo(args);
  if (command === '--version' || command === '-v') process.stdout.write(`${VERSION}\n`);
  else if (command === undefined || wantsHelp([command])) process.stdout.write(HELP);
  else refuse('unknown command, expected gateway, agent, bridge, relay-admin, eval or demo; see gatehouse --help');
};

await run(process.argv.slice(2));
