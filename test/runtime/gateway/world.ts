import { type Backend, judgedBy, type Script, startBackend } from '../backends.ts';
import { KEY } from '../client.ts';
import type { Variables } from '../processes.ts';
import { type Gateway, startGateway } from './process.ts';

export type GatewayWorld = { readonly gateway: Gateway; readonly backend: Backend };

type GatewayWorldNeeds = {
  readonly script?: Script;
  readonly variables?: Variables | ((backend: Backend) => Variables);
};

/** Runs `body` beside the Node bundle and its backend. Both are gone afterwards, however `body` ends. */
export const withGateway = async (
  { script, variables = {} }: GatewayWorldNeeds,
  body: (world: GatewayWorld) => Promise<void>,
): Promise<void> => {
  const backend = await startBackend(script);
  try {
    const given = typeof variables === 'function' ? variables(backend) : variables;
    const gateway = await startGateway({ MODERATION_API_KEYS: KEY, ...judgedBy(backend.address), ...given });
    try {
      await body({ gateway, backend });
    } finally {
      await gateway.kill();
    }
  } finally {
    await backend.stop();
  }
};
