import { DEMO_MODEL } from './model/model.ts';

/** As much of the example configuration as has to be known here. All else, the permissions among it, stays as it is. */
type Example = {
  readonly mcp: { readonly 'relay-admin': { readonly environment: Readonly<Record<string, string>> } };
};

type AgentConfigNeeds = {
  /** Where the scripted model answers. */
  readonly model: string;
  /** Settings of the tool server. */
  readonly relay: Readonly<Record<string, string>>;
};

/** The demo's only model, as the agent server and the bridge name it. */
export const DEMO_MODEL_NAME = `demo/${DEMO_MODEL}`;

/** The example configuration with the scripted model for its provider, and with its tool server before the demo relay. */
export const demoAgentConfig = <Given extends Example>(example: Given, { model, relay }: AgentConfigNeeds) => {
  const tools = example.mcp['relay-admin'];
  return {
    ...example,
    model: DEMO_MODEL_NAME,
    small_model: DEMO_MODEL_NAME,
    provider: {
      demo: {
        npm: '@ai-sdk/openai-compatible',
        name: 'Demo (a script, no model)',
        options: { baseURL: `${model}/v1`, apiKey: 'none' },
        models: { [DEMO_MODEL]: { name: 'demo model', limit: { context: 131_072, output: 8192 } } },
      },
    },
    mcp: { ...example.mcp, 'relay-admin': { ...tools, environment: { ...tools.environment, ...relay } } },
  };
};
