import { bundle, type Running, run, start, type Variables } from '../processes.ts';

export type Gateway = Running & { readonly address: string };

/** A gateway, once it says in its log where it listens. */
const listening = async (running: Running): Promise<Gateway> => {
  const [, address = ''] = await running.outputMatching(/"event":"listening","address":"([^"]+)"/);
  return { ...running, address };
};

/** Starts the Node bundle on a free port of loopback and waits until it listens. */
export const startGateway = (variables: Variables): Promise<Gateway> =>
  listening(
    start(process.execPath, [bundle('gateway.js')], { variables: { HOST: '127.0.0.1', PORT: '0', ...variables } }),
  );

/** Runs the Node bundle to its end, for starts that must fail. */
export const gatewayEnd = (variables: Variables) =>
  run(process.execPath, [bundle('gateway.js')], { variables: { HOST: '127.0.0.1', PORT: '0', ...variables } });
