import { setBridgeCount } from '../../bridge/harness/bridge-count.ts';

// The same promises hold where each request goes to the other one of two bridges.
setBridgeCount(2);
await import('./chats.test.ts');
await import('./openai-chat.test.ts');
await import('./openai-responses.test.ts');
