import { AGENT_HELP, BRIDGE_HELP, GATEWAY_HELP, HELP, RELAY_ADMIN_HELP } from './help.ts';
import { nearestText, runWithoutArguments, wantsHelp } from './program/arguments.ts';
import { VERSION } from './program/version.ts';

const refuse = (message: string): void => {
  process.stderr.write(`gatehouse: ${message}\n`);
  process.exitCode = 1;
};

// Each command is a bundle of its own next to this one, so that a start loads only what it runs.
const runGateway = async (): Promise<void> => (await import('./gateway.node.ts')).main();
const runBridge = async (): Promise<void> => (await import('./bridge.ts')).main();
const runRelayAdmin = async (): Promise<void> => (await import('./relay-admin.ts')).main();

const runAgent = async (args: readonly string[]): Promise<void> => {
  const [first = '-'] = args;
  if (first.startsWith('-'))
    return runWithoutArguments(args, {
      name: 'agent',
      help: AGENT_HELP,
      main: async () => (await import('./agent.ts')).main(),
    });
  process.exitCode = await (await import('./agent-command.ts')).runAgentCommand(args);
};

const COMMANDS = ['gateway', 'agent', 'bridge', 'relay-admin', 'relay-check', 'console', 'eval', 'demo'];

const run = async ([command, ...args]: readonly string[]): Promise<void> => {
  if (command === 'gateway')
    return runWithoutArguments(args, { name: 'gateway', help: GATEWAY_HELP, main: runGateway });
  if (command === 'agent') return runAgent(args);
  if (command === 'bridge') return runWithoutArguments(args, { name: 'bridge', help: BRIDGE_HELP, main: runBridge });
  if (command === 'relay-admin')
    return runWithoutArguments(args, { name: 'relay-admin', help: RELAY_ADMIN_HELP, main: runRelayAdmin });
  if (command === 'relay-check') {
    process.exitCode = await (await import('./relay-admin.ts')).check(args);
    return;
  }
  if (command === 'console') return (await import('./console.ts')).main(args);
  if (command === 'eval') {
    process.exitCode = await (await import('./eval.ts')).runEval(args);
    return;
  }
  if (command === 'demo') return (await import('./demo.ts')).runDemo(args);
  if (command === '--version' || command === '-v') process.stdout.write(`${VERSION}\n`);
  else if (command === undefined || wantsHelp([command])) process.stdout.write(HELP);
  else
    refuse(
      `unknown command, expected gateway, agent, bridge, relay-admin, relay-check, console, eval or demo${nearestText(command, COMMANDS)}; see gatehouse --help`,
    );
};

await run(process.argv.slice(2));
