import { contract } from './contract.ts';
import { node } from './node-runtime.ts';

const WORKERS = 2;

contract({
  ...node,
  name: `Node, with ${WORKERS} workers`,
  // Verdicts wait for a while to be sent together.
  sharingMs: 1000,
  // Each worker makes a part of the calls, and needs at least one.
  start: ({ MAX_CONCURRENCY: calls, ...variables }) =>
    node.start({
      GATEWAY_WORKERS: String(WORKERS),
      ...variables,
      ...(calls === undefined ? {} : { MAX_CONCURRENCY: String(Math.max(WORKERS, Number(calls))) }),
    }),
});
