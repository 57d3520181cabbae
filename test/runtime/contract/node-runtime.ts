import { gatewayEnd, startGateway } from '../gateway/process.ts';
import type { Runtime } from './worlds.ts';

/** `dist/gateway.js` as a process. */
export const node: Runtime = {
  name: 'Node',
  start: startGateway,
  keepsMetrics: true,
  async refused(variables) {
    const { code, stderr } = await gatewayEnd(variables);
    if (code !== 1) throw new Error(`Expected exit code 1, but it was ${code}`);
    return { printed: stderr, answered: '' };
  },
};
