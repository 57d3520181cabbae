import { setBridgeCount } from '../harness/round-robin.ts';

// The same promises hold where each request goes to the other one of two bridges.
setBridgeCount(2);
await import('../service/client-tools.test.ts');
