import * as v from 'valibot';
import { jsonResponse } from '../../../core/http/response.ts';
import { createPromptAudit } from '../audit/engine.ts';
import { type AuditDecision, effectiveMode } from '../audit/settings.ts';
import { guardError, ok, parseBody, refusedResponse } from '../envelope.ts';
import { createModerationClient, type ModerationOutcome } from '../moderation/client.ts';
import { type ModerationInput, moderationInputOf } from '../moderation/input.ts';
import { createModerationKey, type ModerationKey } from '../moderation/keys.ts';
import { HOSTILE, SECRETS } from '../records/secrets.ts';
import type { DemoUser } from '../records/users.ts';
import type { RelayWorld } from '../world.ts';
import { auditRefusal } from './audit.ts';
import { parseId, type RelayRoute, type RelayTable } from './table.ts';

const HOUR_MS = 3_600_000;
const KeyTest = v.object({ prompt: v.exactOptional(v.string()) });
/** Keys are added to those that there are, and never shown. */
const Config = v.looseObject({ api_keys: v.exactOptional(v.array(v.string()), []) });
/** Where users send chats, and whatever else both engines look at. */
const FRONTS = ['chat/completions', 'messages', 'responses', 'embeddings'];

const keyView = (key: ModerationKey, index: number, nowMs: number) => {
  const isFrozen = key.frozenUntilMs > nowMs;
  return {
    index,
    masked: SECRETS.moderationMask,
    key_hash: SECRETS.moderationHash,
    status: isFrozen ? 'frozen' : 'ok',
    failure_count: key.failures,
    success_count: key.successes,
    frozen_until: isFrozen ? new Date(key.frozenUntilMs).toISOString() : null,
    last_http_status: key.lastStatus ?? 0,
    last_error: '',
  };
};

const completion = (): Response =>
  jsonResponse(200, {
    id: 'chatcmpl-demo',
    object: 'chat.completion',
    choices: [{ index: 0, message: { role: 'assistant', content: 'The model answered.' }, finish_reason: 'stop' }],
  });

const blocked = (): Response => {
  const message = 'The request was blocked by content moderation';
  return jsonResponse(403, { error: { message, type: 'invalid_request_error', code: 'content_policy_violation' } });
};

/**
 * The front for users' chats, with moderation and prompt audit before the model as the platform has them, and the admin's routes about
 * moderation. `send` carries their calls; without it nothing is judged.
 */
export const moderationTable = (
  world: RelayWorld,
  send: ((request: Request) => Promise<Response>) | undefined,
): RelayTable => {
  const { clock, moderation } = world;
  const { settings, keys, logs } = moderation;
  const client = send === undefined ? undefined : createModerationClient({ clock, settings, keys, send });
  const audit = send === undefined ? undefined : createPromptAudit({ clock, settings: world.audit.settings, send });
  const statuses = () => keys.map((key, index) => keyView(key, index, clock.now()));

  /** Whether a text is judged at all. Groups and models that are named are those of nobody here. */
  const isJudged = (user: DemoUser, { text }: ModerationInput): boolean =>
    world.settings.isRiskControlOn &&
    settings.enabled &&
    settings.mode !== 'off' &&
    settings.keyword_blocking_mode !== 'keyword_only' &&
    settings.all_groups &&
    settings.model_filter.type === 'all' &&
    text.length % 100 < settings.sample_rate &&
    !settings.exempt_user_ids.includes(user.id);

  const record = (user: DemoUser, action: ModerationOutcome['action']): void => {
    const now = clock.now();
    logs.push({ userId: user.id, action, at: now });
    const hits = logs.filter(
      ({ userId, action: one, at }) =>
        userId === user.id && one === 'block' && at > now - settings.violation_window_hours * HOUR_MS,
    ).length;
    if (settings.auto_ban_enabled && user.role !== 'admin' && hits >= settings.ban_threshold) user.status = 'disabled';
  };

  const isPassing = async (user: DemoUser, body: string): Promise<boolean> => {
    const input = moderationInputOf(body);
    if (client === undefined || input === undefined || !isJudged(user, input)) return true;
    const { action } = await client.check(input);
    record(user, action);
    return action !== 'block' || settings.mode !== 'pre_block';
  };

  const auditOf = async (user: DemoUser, body: string): Promise<AuditDecision> => {
    const { events, settings: audited } = world.audit;
    const isAudited =
      effectiveMode(audited, world.settings.isRiskControlOn) === 'blocking' &&
      audited.all_groups &&
      !audited.exempt_user_ids.includes(user.id);
    const decision = (isAudited ? await audit?.(body) : undefined) ?? 'allow';
    const isStored = decision === 'allow' ? audited.store_pass_events : audited.enabled;
    if (isStored) events.push({ id: events.length + 1, userId: user.id, decision });
    return decision;
  };

  const answerUser: RelayRoute = async ({ request, body }) => {
    const key = (request.headers.get('authorization') ?? '').replace(/^Bearer /, '');
    const user = world.users.find(
      ({ api_keys, deleted_at }) => deleted_at === null && api_keys.some((one) => one.key === key),
    );
    if (user === undefined) return guardError(401, 'INVALID_API_KEY', 'Invalid API key');
    if (user.status !== 'active') return guardError(401, 'USER_INACTIVE', 'User account is not active');
    // Both run at once and both are waited for: a block by the first comes first.
    const [isPassed, decision] = await Promise.all([isPassing(user, body), auditOf(user, body)]);
    return isPassed ? (auditRefusal(decision) ?? completion()) : blocked();
  };

  const config = () => ({
    ...settings,
    api_key_configured: keys.length > 0,
    api_key_count: keys.length,
    api_key_masked: SECRETS.moderationMask,
    api_key_masks: [SECRETS.moderationMask],
    api_key_statuses: statuses(),
    blocked_keywords: [],
  });

  return {
    ...Object.fromEntries(FRONTS.map((front) => [`POST /v1/${front}`, answerUser])),
    'GET risk-control/config': () => ok(config()),
    'PUT risk-control/config': ({ body }) => {
      const { api_keys: added, ...given } = parseBody(Config, body) ?? { api_keys: [] };
      keys.push(...added.filter((key) => !keys.some((known) => known.key === key)).map(createModerationKey));
      for (const [name, value] of Object.entries(given))
        if (Object.hasOwn(settings, name)) Object.assign(settings, { [name]: value });
      return ok(config());
    },
    'GET risk-control/status': () =>
      ok({
        enabled: settings.enabled,
        risk_control_enabled: world.settings.isRiskControlOn,
        mode: settings.mode,
        queue_length: 0,
        api_key_statuses: statuses(),
      }),
    'GET risk-control/logs': () => {
      const seeded = {
        id: 1,
        action: 'block',
        flagged: true,
        input_excerpt: HOSTILE.notes,
        user_email: 'alice@example.com',
      };
      const items = [
        ...logs.map(({ userId, action }, index) => ({
          id: index + 2,
          action,
          flagged: action === 'block',
          user_id: userId,
        })),
        seeded,
      ];
      return ok({ items, total: items.length, page: 1, page_size: 20, pages: 1 });
    },
    // It asks whatever the switches say, and a test with a prompt of its own leaves a frozen key frozen.
    'POST risk-control/api-keys/test': async ({ body }) => {
      const { prompt } = parseBody(KeyTest, body) ?? {};
      const input = { text: prompt ?? 'hello', imageUrl: undefined };
      const outcomes: ModerationOutcome[] = [];
      for (const key of keys)
        if (client !== undefined) outcomes.push(await client.test(key, input, prompt === undefined));
      const judged = outcomes.find(({ action }) => action !== 'error');
      const result = judged && { flagged: judged.action === 'block', category_scores: judged.scores };
      return ok({ items: statuses(), ...(result === undefined ? {} : { audit_result: result }), image_count: 0 });
    },
    'POST risk-control/users/:id/unban': ({ params }) => {
      const user = world.users.find(({ id }) => id === parseId(params));
      if (user === undefined)
        return refusedResponse({ status: 404, message: 'user not found', reason: 'USER_NOT_FOUND' });
      user.status = 'active';
      return ok({ id: user.id, status: user.status });
    },
  };
};
