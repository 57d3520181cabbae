// Asks the service in the same container for its health, and ends with 0 if it says 200 in time, else with 1.
// Not by fetch, which refuses some ports and takes longer to load than the rest of this.
import { get } from 'node:http';

const LIMIT_MS = 3000;

setTimeout(() => process.exit(1), LIMIT_MS);
get({ host: '127.0.0.1', port: process.env.PORT?.trim() || process.argv[2], path: '/health' }, ({ statusCode }) =>
  process.exit(statusCode === 200 ? 0 : 1),
).on('error', () => process.exit(1));
