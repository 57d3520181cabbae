import { bundle, freePort, program, start } from '../processes.ts';
import { contract } from './contract.ts';
import { workerRuntime } from './worker-runtime.ts';

contract(
  workerRuntime('Bun', async (variables) => {
    const port = await freePort();
    const running = start(program('bun'), [bundle('gateway.worker.js')], {
      variables: { DO_NOT_TRACK: '1', ...variables, PORT: String(port) },
    });
    await running.outputMatching(/Started development server|Started server/);
    return { ...running, address: `http://127.0.0.1:${port}` };
  }),
);
