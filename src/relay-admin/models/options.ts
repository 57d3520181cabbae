import * as v from 'valibot';

/** One way to limit or stop use of the relay, or a setting that only looks like one. */
export const ControlOption = v.strictObject({
  scope: v.picklist(['user', 'user_in_group', 'group', 'user_and_platform', 'api_key', 'account', 'model', 'price']),
  control: v.string(),
  can: v.pipe(v.boolean(), v.description('whether it can limit or stop requests')),
  by: v.picklist(['update_user_limits', 'set_account_schedulable', 'relay_admin_ui', 'nothing']),
  effect: v.string(),
  zero_means: v.pipe(v.nullable(v.string()), v.description('null: not a number, or not known')),
});

/** The answer to the most frequent question. */
export const SUMMARY =
  'The relay has no configurable rate or concurrency limit for a single model. Limits are per user, per user in a group, per API key or per account; one model can only be made unavailable, and the options with scope model say how.';

/** An option without what follows from its other members: `can`, and a `zero_means` that is null. */
type Option = Omit<v.InferOutput<typeof ControlOption>, 'can' | 'zero_means'> & { readonly zero_means?: string };

const OPTIONS: readonly Option[] = [
  {
    scope: 'user',
    control: 'rpm_limit',
    by: 'update_user_limits',
    effect: 'Requests per minute of one user over all groups and models; more get 429.',
    zero_means: 'unlimited',
  },
  {
    scope: 'user',
    control: 'concurrency',
    by: 'update_user_limits',
    effect: 'Requests of one user at a time over all models; more wait, then get 429.',
    zero_means: 'unlimited',
  },
  {
    scope: 'group',
    control: 'rpm_limit',
    by: 'relay_admin_ui',
    effect: 'Counted for each user in the group alone, over all its models; the limit of the user holds as well.',
    zero_means: 'no limit by the group',
  },
  {
    scope: 'user_in_group',
    control: 'rpm_override',
    by: 'relay_admin_ui',
    effect: 'Replaces the rpm_limit of one group for one user.',
    zero_means: 'exempt from the limit of the group; the limit of the user still holds',
  },
  {
    scope: 'group',
    control: 'daily_limit_usd, weekly_limit_usd, monthly_limit_usd',
    by: 'relay_admin_ui',
    effect: 'Spending limits of subscription groups, over all models.',
  },
  {
    scope: 'user_and_platform',
    control: 'platform quotas in USD',
    by: 'relay_admin_ui',
    effect: 'Spending of one user on one platform, over all its models; null is unlimited.',
    zero_means: 'no use at all',
  },
  {
    scope: 'api_key',
    control: 'quota and 5h, 1d, 7d limits in USD',
    by: 'relay_admin_ui',
    effect: 'Spending with one API key, over all models.',
    zero_means: 'unlimited',
  },
  {
    scope: 'account',
    control: 'schedulable',
    by: 'set_account_schedulable',
    effect:
      'Takes the whole account out of new requests, for all models and groups. Running requests go on; switching it on clears no automatic limit.',
  },
  {
    scope: 'account',
    control: 'concurrency, base_rpm, window cost, sessions, quota',
    by: 'relay_admin_ui',
    effect: 'Limits of one upstream account over all users and models; some exist for certain account types only.',
  },
  {
    scope: 'model',
    control: 'rate or concurrency limit of a model',
    by: 'nothing',
    effect: 'Does not exist on the platform, for no user and at no scope.',
  },
  {
    scope: 'model',
    control: 'automatic model limit of an account',
    by: 'nothing',
    effect: 'The relay sets it after refusals from upstream and ends it at its reset time. It can be read, not set.',
  },
  {
    scope: 'model',
    control: 'dedicated account',
    by: 'set_account_schedulable',
    effect:
      'Where accounts serve this model and nothing else, making each of them unschedulable makes the model unavailable.',
  },
  {
    scope: 'model',
    control: 'channel restrict_models and model_pricing',
    by: 'relay_admin_ui',
    effect: 'With restrict_models on, only models listed in model_pricing are allowed in the groups of the channel.',
  },
  {
    scope: 'model',
    control: 'composite route',
    by: 'relay_admin_ui',
    effect:
      'Switching off its route in a composite group stops a model, but well-known names such as gpt-* and claude-* may be routed all the same.',
  },
  {
    scope: 'model',
    control: 'account model_mapping',
    by: 'relay_admin_ui',
    effect:
      'A list of allowed or renamed models of one account; passthrough accounts and fallback may still serve others.',
  },
  {
    scope: 'model',
    control: 'group model_routing',
    by: 'nothing',
    effect: 'Pins models to accounts in Anthropic groups. It limits nothing.',
  },
  {
    scope: 'model',
    control: 'group models_list_config',
    by: 'nothing',
    effect: 'Releases up to 0.1: changes only which models are listed to clients. It blocks nothing.',
  },
  {
    scope: 'model',
    control: 'group model_allowlist',
    by: 'relay_admin_ui',
    effect: 'Releases from 0.2, in place of models_list_config: while enabled, the group serves only these models.',
  },
  {
    scope: 'price',
    control: 'rate_multiplier',
    by: 'nothing',
    effect: 'A factor on the price, in spite of its name. It limits no rate.',
  },
];

/** What the platform can and cannot limit, by scope. Static: it is true without reading the relay. */
export const CONTROL_OPTIONS: readonly v.InferOutput<typeof ControlOption>[] = OPTIONS.map(
  ({ scope, control, by, effect, zero_means = null }) => ({
    scope,
    control,
    can: by !== 'nothing',
    by,
    effect,
    zero_means,
  }),
);
