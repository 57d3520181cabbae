import { isRecord } from '../../core/json.ts';
import { unexpectedShape } from '../errors/errors.ts';
import {
  type AnswerReader,
  amount,
  fields,
  flag,
  type Json,
  listOf,
  MAX_DEPTH,
  mapOf,
  plain,
  TOO_DEEP,
} from './project.ts';

const GROUP_NAME_FIELDS = fields('id name platform');

/** No notes: they are about people, and no tool needs them. No `api_keys`: they hold whole keys. */
export const USER_FIELDS = fields(
  `id email username role status concurrency current_concurrency rpm_limit last_active_at last_used_at created_at updated_at
  deleted_at balance_notify_enabled`,
  {
    balance: amount,
    frozen_balance: amount,
    total_recharged: amount,
    allowed_groups: listOf(plain),
    group_rates: mapOf(plain),
  },
);

/** No `code`: an unused one is worth money. The notes hold the marker of a recharge. */
export const BALANCE_CHANGE_FIELDS = fields(
  'id type status notes used_by used_at created_at expires_at group_id validity_days',
  { value: amount, group: GROUP_NAME_FIELDS },
);

export const SUBSCRIPTION_FIELDS = fields(
  `id user_id group_id status starts_at expires_at daily_window_start weekly_window_start monthly_window_start
  daily_usage_usd weekly_usage_usd monthly_usage_usd assigned_at created_at updated_at`,
  { group: GROUP_NAME_FIELDS },
);

export const RPM_STATUS_FIELDS = fields('user_rpm_used user_rpm_limit', {
  per_group: listOf(fields('group_id group_name used limit source')),
});

export const PLATFORM_QUOTAS_FIELDS = fields('', {
  platform_quotas: listOf(
    fields(
      `platform daily_usage_usd daily_limit_usd daily_window_start daily_window_resets_at weekly_usage_usd weekly_limit_usd
      weekly_window_start weekly_window_resets_at monthly_usage_usd monthly_limit_usd monthly_window_start
      monthly_window_resets_at`,
    ),
  ),
});

/** Neither `credentials` nor a proxy, and of `extra` only which models are rate-limited. */
export const ACCOUNT_FIELDS = fields(
  `id name platform type status schedulable error_message concurrency current_concurrency load_factor priority
  rate_multiplier proxy_id last_used_at expires_at auto_pause_on_expired created_at updated_at rate_limited_at
  rate_limit_reset_at overload_until temp_unschedulable_until temp_unschedulable_reason session_window_start
  session_window_end session_window_status window_cost_limit current_window_cost max_sessions active_sessions base_rpm
  current_rpm quota_limit quota_used quota_daily_limit quota_daily_used quota_daily_reset_at quota_weekly_limit
  quota_weekly_used quota_weekly_reset_at quota_dimension parent_account_id custom_base_url_enabled`,
  {
    group_ids: listOf(plain),
    groups: listOf(GROUP_NAME_FIELDS),
    credentials_status: mapOf(flag),
    extra: fields('', { model_rate_limits: mapOf(fields('rate_limited_at rate_limit_reset_at reason')) }),
  },
);

export const ACCOUNT_MODEL_FIELDS = fields('id name display_name type object owned_by created created_at');

export const TEMP_UNSCHEDULABLE_FIELDS = fields('active', {
  state: fields(
    `until_unix triggered_at_unix status_code matched_keyword rule_index error_message trigger_count trigger_threshold
    trigger_window_minutes`,
  ),
});

const TIME_PRICING_FIELDS = fields('timezone weekdays_only', {
  periods: listOf(fields('start_time end_time multiplier')),
});

/** The prices of some models, and by how much they are multiplied at some times of the day. */
const PRICE_FIELDS = fields(
  `id platform billing_mode input_price output_price cache_write_price cache_write_1h_price cache_read_price
  image_input_price image_output_price per_request_price fast_multiplier flex_multiplier`,
  { models: listOf(plain), time_pricing: TIME_PRICING_FIELDS },
);

/** With the fields of all releases: those until 0.1 have `models_list_config`, newer ones `model_allowlist`. */
export const GROUP_FIELDS = fields(
  `id name description platform status is_exclusive subscription_type rate_multiplier rpm_limit daily_limit_usd
  weekly_limit_usd monthly_limit_usd allow_image_generation claude_code_only fallback_group_id
  fallback_group_id_on_invalid_request allow_messages_dispatch require_oauth_only require_privacy_set model_routing_enabled
  default_mapped_model account_count active_account_count rate_limited_account_count sort_order created_at updated_at
  profit_control_enabled profit_min_margin profit_safety_buffer peak_rate_enabled peak_start peak_end peak_rate_multiplier
  max_reasoning_effort max_reasoning_effort_over_limit`,
  {
    model_pricing: listOf(PRICE_FIELDS),
    model_allowlist: fields('enabled', { models: listOf(plain) }),
    codex_models_manifest_config: fields('enabled fallback_to_scheduler', { account_ids: listOf(plain) }),
    reasoning_effort_mappings: listOf(fields('from to match_type model')),
    model_routing: mapOf(listOf(plain)),
    supported_model_scopes: listOf(plain),
    models_list_config: fields('enabled', { models: listOf(plain) }),
  },
);

/** What single users pay in a group, and their limit there: ids only, no names or notes. */
export const USER_RATE_FIELDS = fields('user_id user_status rate_multiplier rpm_override');

export const COMPOSITE_ROUTE_FIELDS = fields(
  'id group_id public_model match_type target_platform upstream_model endpoint priority enabled',
);

export const CHANNEL_FIELDS = fields(
  `id name description status billing_model_source restrict_models apply_pricing_to_account_stats created_at updated_at`,
  {
    group_ids: listOf(plain),
    model_pricing: listOf(PRICE_FIELDS),
    time_pricing: TIME_PRICING_FIELDS,
    model_mapping: mapOf(mapOf(plain)),
  },
);

/** Fields whose text names what a statistic is about. A text in any other field is dropped. */
const STATISTIC_TEXT_FIELDS = new Set(
  `name display_name job_name group_name account_name key_name model models model_name requested_model upstream_model public_model
  platform provider target_platform match_type type kind status state mode billing_mode action source scope category
  level severity phase date day hour week month time timestamp bucket period window range time_range interval granularity
  timezone unit currency version endpoint service_tier plan tier label`.split(/\s+/),
);
const TIME = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?$/;
const ID_NAME = /(?:^|_)ids?$/;
const ID_TEXT = /^\d{1,19}$/;

const isStatisticText = (text: string, name: string): boolean =>
  STATISTIC_TEXT_FIELDS.has(name) || TIME.test(text) || (ID_NAME.test(name) && ID_TEXT.test(text));

/** Keeps numbers, booleans, null and allowed texts. The items of a list are checked under the name of the list. */
const toStatistic = (value: unknown, name: string, depth: number): Json | undefined => {
  if (typeof value === 'string') return isStatisticText(value, name) ? value : undefined;
  if (typeof value !== 'object' || value === null) return plain(value);
  if (depth > MAX_DEPTH) return TOO_DEEP;
  if (Array.isArray(value)) {
    return value.map((item) => toStatistic(item, name, depth + 1)).filter((item) => item !== undefined);
  }
  const shown: [string, Json][] = [];
  for (const [inner, part] of Object.entries(value)) {
    const kept = toStatistic(part, inner, depth + 1);
    if (kept !== undefined) shown.push([inner, kept]);
  }
  return Object.fromEntries(shown);
};

/**
 * Reads statistics whose shape is not known in advance: numbers, booleans and null in any field, texts only where they
 * name what is measured, or when. `name` is the name of a list at the top level.
 */
export const statisticsReader =
  (name = ''): AnswerReader =>
  (data) => {
    const value = data ?? null;
    if (value !== null && !Array.isArray(value) && !isRecord(value)) throw unexpectedShape();
    return toStatistic(value, name, 1) ?? null;
  };
