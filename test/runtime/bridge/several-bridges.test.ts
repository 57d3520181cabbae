import { setBridgeCount } from '../../bridge/harness/bridge-count.ts';

// The same promises hold where each request goes to the other one of two bridges. The long version has the clients, too.
setBridgeCount(2);
await import('./chats.test.ts');
