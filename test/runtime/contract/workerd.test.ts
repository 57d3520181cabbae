import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundle, program, start, type Variables } from '../processes.ts';
import { contract } from './contract.ts';
import { workerRuntime } from './worker-runtime.ts';

const MODULE = 'gateway.worker.js';
const directory = mkdtempSync(join(tmpdir(), 'gatehouse-workerd-'));
process.on('exit', () => rmSync(directory, { recursive: true, force: true }));

const bindingsOf = (variables: Variables): string =>
  Object.entries(variables)
    .map(([name, text = '']) => `(name = ${JSON.stringify(name)}, text = ${JSON.stringify(text)})`)
    .join(', ');

/** A Worker as it would be deployed, but for its network: that may reach this machine. */
const configOf = (variables: Variables): string => `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "gateway", worker = (
      modules = [(name = "${MODULE}", esModule = embed "${MODULE}")],
      compatibilityDate = "2026-11-01",
      compatibilityFlags = ["enable_request_signal"],
      bindings = [${bindingsOf(variables)}],
      globalOutbound = "network",
    )),
    (name = "network", network = (allow = ["public", "private"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "gateway")],
);
`;

let count = 0;
contract(
  workerRuntime('workerd', async (variables) => {
    count += 1;
    copyFileSync(bundle(MODULE), join(directory, MODULE));
    const config = join(directory, `${count}.capnp`);
    writeFileSync(config, configOf(variables));
    const running = start(program('workerd'), ['serve', config, '--control-fd=3']);
    const [, port] = await running.outputMatching(/"event":"listen".*"port":(\d+)/);
    return { ...running, address: `http://127.0.0.1:${port}` };
  }),
);
