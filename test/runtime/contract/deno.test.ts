import { bundle, program, start } from '../processes.ts';
import { contract } from './contract.ts';
import { workerRuntime } from './worker-runtime.ts';

const SERVE = ['serve', '--no-lock', '--no-config', '--host', '127.0.0.1', '--port', '0', '--allow-net', '--allow-env'];

contract(
  workerRuntime('Deno', async (variables) => {
    const running = start(program('deno'), [...SERVE, bundle('gateway.worker.js')], {
      variables: { DENO_NO_UPDATE_CHECK: '1', ...variables },
    });
    const [address = ''] = await running.outputMatching(/http:\/\/127\.0\.0\.1:\d+/);
    return { ...running, address };
  }),
);
