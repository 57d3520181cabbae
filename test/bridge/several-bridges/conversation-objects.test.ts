import { setBridgeCount } from '../harness/bridge-count.ts';

// The same promises hold where each request goes to the other one of two bridges.
setBridgeCount(2);
await import('../service/conversation-objects/items.test.ts');
await import('../service/conversation-objects/objects.test.ts');
await import('../service/conversation-objects/turns.test.ts');
