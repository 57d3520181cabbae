import * as v from 'valibot';
import { jsonResponse } from '../../../core/http/response.ts';
import { createPromptAudit } from '../audit/engine.ts';
import type { AuditDecision } from '../audit/settings.ts';
import { guardError, ok, parseBody, refusedResponse } from '../envelope.ts';
import { createModerationClient, type ModerationOutcome } from '../moderation/client.ts';
import { moderationInputOf } from '../moderation/input.ts';
import type { ModerationKey } from '../moderation/keys.ts';
import { HOSTILE, SECRETS } from '../records/secrets.ts';
import type { DemoUser } from '../records/users.ts';
import type { RelayWorld } from '../world.ts';
import { auditRefusal } from './audit.ts';
import { parseId, type RelayTable } from './table.ts';

const HOUR_MS = 3_600_000;
const KeyTest = v.object({ prompt: v.optional(v.string(), 'hello') });

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

  const record = (user: DemoUser, action: ModerationOutcome['action']): void => {
    const now = clock.now();
    logs.push({ userId: user.id, action, at: now });
    const hits = logs.filter(
      ({ userId, action: one, at }) =>
        userId === user.id && one === 'block' && at > now - settings.violation_window_hours * HOUR_MS,
    ).length;
    if (settings.is_auto_ban_on && user.role !== 'admin' && hits >= settings.ban_threshold) user.status = 'disabled';
  };

  const isPassing = async (user: DemoUser, body: string): Promise<boolean> => {
    const input = moderationInputOf(body);
    if (client === undefined || input === undefined || settings.mode === 'off') return true;
    const { action } = await client.check(input);
    record(user, action);
    return action !== 'block' || settings.mode !== 'pre_block';
  };

  const auditOf = async (user: DemoUser, body: string): Promise<AuditDecision> => {
    const { events, settings: audited } = world.audit;
    const decision = (await audit?.(body)) ?? 'allow';
    const isStored = decision === 'allow' ? audited.store_pass_events : audited.enabled;
    if (isStored) events.push({ id: events.length + 1, userId: user.id, decision });
    return decision;
  };

  return {
    'POST /v1/chat/completions': async ({ request, body }) => {
      const key = (request.headers.get('authorization') ?? '').replace(/^Bearer /, '');
      const user = world.users.find(
        ({ api_keys, deleted_at }) => deleted_at === null && api_keys.some((one) => one.key === key),
      );
      if (user === undefined) return guardError(401, 'INVALID_API_KEY', 'Invalid API key');
      if (user.status !== 'active') return guardError(401, 'USER_INACTIVE', 'User account is not active');
      // Both run at once and both are waited for: a block by the first comes first.
      const [isPassed, decision] = await Promise.all([isPassing(user, body), auditOf(user, body)]);
      return isPassed ? (auditRefusal(decision) ?? completion()) : blocked();
    },
    'GET risk-control/config': () =>
      ok({
        enabled: true,
        ...settings,
        api_key_configured: true,
        api_key_masked: SECRETS.moderationMask,
        api_key_masks: [SECRETS.moderationMask],
        api_key_statuses: statuses(),
        blocked_keywords: [],
      }),
    'GET risk-control/status': () => ok({ enabled: true, queue_length: 0, api_key_statuses: statuses() }),
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
    'POST risk-control/api-keys/test': async ({ body }) => {
      const { prompt } = parseBody(KeyTest, body) ?? { prompt: 'hello' };
      const outcomes: ModerationOutcome[] = [];
      for (const key of keys)
        if (client !== undefined) outcomes.push(await client.test(key, { text: prompt, imageUrl: undefined }));
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
