import { askIntegration, litellmOutcome } from '../../../harness/integrations.ts';
import { type Answer, gatewayOver, judging, shownTextOf, type WorldSettings } from '../../../harness/world.ts';

/** The route that LiteLLM asks. */
export const PATH = '/beta/litellm_basic_guardrail_api';
/** An image as LiteLLM sends it. */
export const IMAGE = `data:image/png;base64,${'AAAA'.repeat(20)}`;

/** What LiteLLM sends for a request of one message. */
export const bodyOf = (more: object = {}) => ({
  input_type: 'request',
  litellm_call_id: 'call',
  litellm_trace_id: 'trace',
  structured_messages: null,
  images: null,
  tools: null,
  texts: ['some text'],
  request_data: { user_api_key_hash: 'hash', user_api_key_user_email: 'ana@example.com' },
  request_headers: { 'user-agent': 'OpenAI/Python', authorization: '[present]' },
  litellm_version: '1.106.2',
  additional_provider_specific_params: {},
  tool_calls: null,
  model: 'gpt-5',
  ...more,
});

/** A judge that finds bombs alone. */
export const bombFinder: Answer = (sent) => judging(/bomb/.test(shownTextOf(sent)) ? { ILV: 90 } : {})(sent);

/** What LiteLLM is told. */
export const outcomeOf = async (
  body: unknown,
  answer: Answer = bombFinder,
  settings: WorldSettings = {},
): Promise<string> => litellmOutcome(await askIntegration(gatewayOver(answer, settings), PATH, body));
