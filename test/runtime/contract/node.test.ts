import { gatewayEnd, startGateway } from '../gateway/process.ts';
import { contract } from './contract.ts';

contract({
  name: 'Node',
  start: startGateway,
  keepsMetrics: true,
  async refused(variables) {
    const { code, stderr } = await gatewayEnd(variables);
    if (code !== 1) throw new Error(`Expected exit code 1, but it was ${code}`);
    return { printed: stderr, answered: '' };
  },
});
