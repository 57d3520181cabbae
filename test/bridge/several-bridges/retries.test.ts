import { setBridgeCount } from '../harness/bridge-count.ts';

// The same promises hold where each request goes to the other one of two bridges.
setBridgeCount(2);
await import('../service/retries.test.ts');
