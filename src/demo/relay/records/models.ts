/** A group as the platform shows it; 0 in `rpm_limit` is no limit. */
export type DemoGroup = {
  readonly id: number;
  name: string;
  platform: string;
  status: string;
  rpm_limit: number;
  model_routing: Record<string, number[]>;
  model_routing_enabled: boolean;
  models_list_config: { enabled: boolean; models: string[] };
  composite_routes: CompositeRoute[];
};

type CompositeRoute = {
  readonly id: number;
  public_model: string;
  match_type: 'exact' | 'prefix';
  target_platform: string;
  upstream_model: string;
  enabled: boolean;
};

const createGroup = (id: number, name: string, platform: string): DemoGroup => ({
  id,
  name,
  platform,
  status: 'active',
  rpm_limit: 0,
  model_routing: {},
  model_routing_enabled: false,
  models_list_config: { enabled: false, models: [] },
  composite_routes: [],
});

export const seedGroups = (): DemoGroup[] => [
  { ...createGroup(1, 'openai', 'openai'), rpm_limit: 120 },
  { ...createGroup(2, 'claude', 'anthropic'), model_routing_enabled: true, model_routing: { 'claude-*': [2] } },
  {
    ...createGroup(3, 'mixed', 'composite'),
    composite_routes: [
      {
        id: 1,
        public_model: 'smart',
        match_type: 'exact',
        target_platform: 'openai',
        upstream_model: 'gpt-5',
        enabled: true,
      },
    ],
  },
];

/** A channel: with `restrict_models` only the models in `model_pricing` may be asked for. */
export type DemoChannel = {
  readonly id: number;
  name: string;
  description: string;
  status: string;
  group_ids: number[];
  restrict_models: boolean;
  billing_model_source: string;
  model_pricing: { platform: string; models: string[]; input_price: number; output_price: number }[];
  model_mapping: Record<string, Record<string, string>>;
};

export const seedChannels = (): DemoChannel[] => [
  {
    id: 1,
    name: 'standard',
    description: '',
    status: 'active',
    group_ids: [1],
    restrict_models: false,
    billing_model_source: 'requested',
    model_pricing: [],
    model_mapping: {},
  },
  {
    id: 2,
    name: 'premium',
    description: 'Sold by contract',
    status: 'active',
    group_ids: [2, 3],
    restrict_models: true,
    billing_model_source: 'upstream',
    model_pricing: [
      { platform: 'anthropic', models: ['claude-sonnet-4-5'], input_price: 0.000003, output_price: 0.000015 },
      { platform: 'gemini', models: ['gemini-2.5-pro', 'gemini-2.5-flash'], input_price: 1e-7, output_price: 4e-7 },
    ],
    model_mapping: { openai: { 'gpt-latest': 'gpt-5' } },
  },
];
