import { BRIDGE_HELP } from './help.ts';
import { VERSION } from './version.ts';

const HELP = `gatehouse ${VERSION}: stands in front of large language models and decides what passes

Usage: gatehouse <command> [options]

  gateway      the moderation gateway: POST /v1/moderations in OpenAI's shape, judged by a chat model
  agent        sessions with a model that can call tools: the server, and commands for its sessions
  bridge       an OpenAI-style front for the agent: chat completions, responses and models for any OpenAI client
  relay-admin  nine guarded tools over an API-relay platform: an MCP server on standard input and output
  eval         runs a labelled file through a running gateway and prints how well it judges
  demo         all four services on this machine, with a toy judge, a scripted model and a toy relay behind them

Each command explains itself with --help. Settings come from environment variables.
`;

const GATEWAY_HELP = `gatehouse gateway: the moderation gateway

It is configured by environment variables. The ones to start with:

  MODERATION_API_KEYS   keys that clients may use, separated by commas (APP_ENV=development makes one if none is set)
  BACKEND_API_KEYS      keys of the cloud backend (https://ollama.com), separated by commas; or
  BACKEND_BASE_URL      http://host:port of your own Ollama, vLLM, llama.cpp or SGLang server
  MODERATION_MODELS     JSON, which chat model judges for which alias, such as {"moderation-fast":"gpt-oss:20b"}
  APP_ENV               development | production (default development)
  HOST, PORT            where to listen (default 0.0.0.0, 8000)

Then: curl http://127.0.0.1:8000/v1/moderations -H "Authorization: Bearer <gateway key>" \\
        -H "Content-Type: application/json" -d '{"input":"some text"}'

All settings: docs/moderation-gateway.md
`;

const RELAY_ADMIN_HELP = `gatehouse relay-admin: nine guarded tools over an API-relay platform

It speaks the Model Context Protocol on standard input and output, so an MCP client starts it. Settings are environment
variables:

  RELAY_BASE_URL        address of the relay, such as http://relay.apps.svc.cluster.local:8080
  RELAY_ALLOWED_HOST    the host of that address, once more: no other is ever called
  RELAY_ADMIN_API_KEY   the relay's admin key; without it only describe, health and model_control_options work
  RELAY_MAX_RECHARGE    largest amount of one recharge (default 10000)
  RELAY_TIMEOUT_MS      time for one tool call (default 30000)
  RELAY_JOURNAL         file that remembers recharges (default ./data/relay-journal.jsonl); keep it on a lasting disk
  RELAY_READ_ONLY       true takes the three tools away that change something (default false)

All of it: docs/relay-admin.md
`;

const wantsHelp = (words: readonly string[]): boolean => words.some((word) => word === '--help' || word === '-h');

const refuse = (complaint: string): void => {
  process.stderr.write(`gatehouse: ${complaint}\n`);
  process.exitCode = 1;
};

// Each command is a bundle of its own beside this one, so that a start loads only what it runs.
const runGateway = async (words: readonly string[]): Promise<void> => {
  if (wantsHelp(words)) process.stdout.write(GATEWAY_HELP);
  else if (words.length > 0)
    refuse(`gateway takes no arguments, only environment variables; see gatehouse gateway --help`);
  else await (await import('./gateway.node.ts')).main();
};

const runBridge = async (words: readonly string[]): Promise<void> => {
  if (wantsHelp(words)) process.stdout.write(BRIDGE_HELP);
  else if (words.length > 0)
    refuse(`bridge takes no arguments, only environment variables; see gatehouse bridge --help`);
  else await (await import('./bridge.ts')).main();
};

const runRelayAdmin = async (words: readonly string[]): Promise<void> => {
  if (wantsHelp(words)) process.stdout.write(RELAY_ADMIN_HELP);
  else if (words.length > 0)
    refuse(`relay-admin takes no arguments, only environment variables; see gatehouse relay-admin --help`);
  else await (await import('./relay-admin.ts')).main();
};

const runAgent = async (words: readonly string[]): Promise<void> => {
  if (words.length === 0) return (await import('./agent.ts')).main();
  process.exitCode = await (await import('./agent-command.ts')).runAgentCommand(words);
};

const run = async ([command, ...words]: readonly string[]): Promise<void> => {
  if (command === 'gateway') return runGateway(words);
  if (command === 'agent') return runAgent(words);
  if (command === 'bridge') return runBridge(words);
  if (command === 'relay-admin') return runRelayAdmin(words);
  if (command === 'eval') {
    process.exitCode = await (await import('./eval.ts')).runEval(words);
    return;
  }
  if (command === 'demo') return (await import('./demo.ts')).runDemo(words);
  if (command === '--version' || command === '-v') process.stdout.write(`${VERSION}\n`);
  else if (command === undefined || wantsHelp([command])) process.stdout.write(HELP);
  else refuse('unknown command, expected gateway, agent, bridge, relay-admin, eval or demo; see gatehouse --help');
};

await run(process.argv.slice(2));
