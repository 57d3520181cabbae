import { isRecord } from '../../core/json.ts';
import {
  type AnswerReader,
  fields,
  listOf,
  listReader,
  mapOf,
  type Projection,
  pageReader,
  plain,
  recordReader,
} from './project.ts';

export const VERSION_FIELDS = fields('version');

/** No masked keys and no blocked words. `redactData` removes a user and a password from `base_url`. */
export const RISK_CONFIG_FIELDS = fields(
  `enabled mode base_url model api_key_configured api_key_count timeout_ms retry_count sample_rate all_groups
  record_non_hits worker_count queue_size block_status block_message email_on_hit auto_ban_enabled ban_threshold
  violation_window_hours hit_retention_days non_hit_retention_days pre_hash_check_enabled keyword_blocking_mode`,
  {
    group_ids: listOf(plain),
    thresholds: mapOf(plain),
    model_filter: fields('type mode', { models: listOf(plain) }),
  },
);

const AUDIT_ENDPOINT_FIELDS = fields('id name base_url model timeout_ms input_limit enabled has_token engine_type');
/** The second engine. No tokens, and nothing of prompts. */
export const PROMPT_AUDIT_FIELDS = fields(
  'enabled blocking_enabled blocking_latest_turn_only effective_mode store_pass_events all_groups config_version',
  { group_ids: listOf(plain), scanners: listOf(plain), endpoints: listOf(AUDIT_ENDPOINT_FIELDS) },
);

const RISK_STATUS_FIELDS = fields(
  `enabled risk_control_enabled mode worker_count max_workers active_workers idle_workers queue_size queue_length
  queue_usage_percent enqueued dropped processed errors pre_block_active pre_block_checked pre_block_allowed
  pre_block_blocked pre_block_errors pre_block_avg_latency_ms pre_block_api_key_active
  pre_block_api_key_available_count flagged_hash_count last_cleanup_at last_cleanup_deleted_hit
  last_cleanup_deleted_non_hit`,
);

/** The only sign that the relay passes texts without judging them: a key that is frozen, for all users. No key, mask or hash. */
const KEY_STATUS_FIELDS = fields(
  `index status failure_count success_count last_checked_at frozen_until last_latency_ms last_http_status last_tested
  configured`,
);

/** Reads the status of moderation. The states of its keys get a name that is not taken for a secret. */
export const readRiskStatus: AnswerReader = (data) => {
  const statuses = isRecord(data) ? listOf(KEY_STATUS_FIELDS)(data.api_key_statuses) : undefined;
  const shown = recordReader(RISK_STATUS_FIELDS)(data);
  return statuses === undefined || !isRecord(shown)
    ? shown
    : { ...Object.fromEntries(Object.entries(shown)), key_statuses: statuses };
};

/** What moderation decided. No excerpt, keyword or error: they hold what users wrote. No names or e-mails. */
export const RISK_LOG_FIELDS = fields(
  `id user_id api_key_id group_id group_name endpoint provider model mode action flagged highest_category highest_score
  upstream_latency_ms violation_count auto_banned email_sent user_status queue_delay_ms created_at`,
  { category_scores: mapOf(plain), threshold_snapshot: mapOf(plain) },
);

export const ALERT_EVENT_FIELDS = fields(
  `id rule_id severity status title description metric_value threshold_value fired_at resolved_at email_sent created_at`,
  { dimensions: fields('platform group_id region account_id model') },
);

export const ALERT_RULE_FIELDS = fields(
  `id name description enabled severity metric_type operator threshold window_minutes sustained_minutes cooldown_minutes
  notify_email last_triggered_at created_at updated_at`,
  { filters: fields('platform group_id region account_id model') },
);

/** A failed request, without its message, its body and who sent it from where: they can hold what users wrote. */
export const RELAY_ERROR_FIELDS = fields(
  `id created_at phase type error_owner error_source severity status_code upstream_status_code platform model
  requested_model upstream_model inbound_endpoint upstream_endpoint request_path stream is_retryable retry_count resolved
  resolved_at user_id api_key_id account_id account_name group_id group_name`,
);

/** Requests that were refused before they were somebody's, counted by the minute. */
export const INGRESS_REJECTION_FIELDS = fields(
  `id bucket_start reason route_family method status_code request_count count user_id api_key_id platform first_seen_at
  last_seen_at created_at updated_at`,
);

/** Reads rows, which some releases send as a list and others as a page. */
export const rowsReader =
  (row: Projection): AnswerReader =>
  (data) =>
    isRecord(data) ? pageReader(row)(data) : listReader(row)(data);
