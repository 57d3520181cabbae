import { setBridgeCount } from '../harness/bridge-count.ts';

// The same promises hold where each request goes to the other one of two bridges.
setBridgeCount(2);
await import('../openai/responses/clients/openai.test.ts');
await import('../openai/responses/clients/ai-sdk.test.ts');
await import('../openai/responses/clients/langchain.test.ts');
await import('../openai/responses/clients/agents.test.ts');
