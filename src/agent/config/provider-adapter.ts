import { type BundledAdapter, isBundledAdapter } from '../bundled-adapters.ts';

const BY_PROVIDER: ReadonlyMap<string, BundledAdapter> = new Map([
  ['openai', '@ai-sdk/openai'],
  ['anthropic', '@ai-sdk/anthropic'],
]);

/** The adapter of a provider: the one it names, else its own, else the one for whatever speaks like OpenAI. */
export const adapterOf = (id: string, npm: unknown): BundledAdapter =>
  typeof npm === 'string' && isBundledAdapter(npm) ? npm : (BY_PROVIDER.get(id) ?? '@ai-sdk/openai-compatible');
