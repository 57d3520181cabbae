import fc from 'fast-check';
import * as assert from 'uvu/assert';
import type { PermissionReply } from '../../../../src/agent/protocol/permissions.ts';
import { createPermissionActions, createPermissionCheck } from '../../../../src/agent/tools/permission-check.ts';
import type { AgentTool } from '../../../../src/agent/tools/tool.ts';
import { describe } from '../../../check.ts';
import { toolNamed } from '../../harness/world.ts';
import { sessionOf, toolPart, userMessage } from '../../store/samples.ts';
import { BY, turn, world } from './world.ts';

const HOUR_MS = 3_600_000;
const TOOLS: Readonly<Record<string, AgentTool>> = {
  // Of the list, by the mark of its server, and by the preview of a call.
  'relay-admin_recharge': toolNamed('relay-admin_recharge'),
  shop_refund: { ...toolNamed('shop_refund'), isDestructive: true },
  wallet: toolNamed('wallet'),
  look: toolNamed('look'),
};

type Call = { readonly session: string; readonly agent: string; readonly tool: string; readonly hasToken: boolean };
const movesMoney = ({ tool, hasToken }: Call): boolean => tool !== 'look' && (tool !== 'wallet' || hasToken);

const session = fc.constantFrom('ses_a', 'ses_b');
const call = fc.record({
  kind: fc.constant('call' as const),
  session,
  agent: fc.constantFrom('build', 'maintainer'),
  tool: fc.constantFrom(...Object.keys(TOOLS), 'look', 'look', 'wallet'),
  hasToken: fc.boolean(),
});
const reply = fc.record({
  kind: fc.constant('reply' as const),
  at: fc.nat(5),
  reply: fc.constantFrom<PermissionReply>(
    { reply: 'once' },
    { reply: 'always' },
    { reply: 'always' },
    { reply: 'reject' },
    { reply: 'reject', message: 'no' },
  ),
});
const wait = fc.record({
  kind: fc.constant('wait' as const),
  ms: fc.constantFrom(1, 1000, 30_000, HOUR_MS / 2, HOUR_MS - 1, HOUR_MS),
});
const revoke = fc.record({ kind: fc.constant('revoke' as const), at: fc.nat(3) });
const action = fc.oneof(
  { weight: 6, arbitrary: call },
  { weight: 5, arbitrary: reply },
  { weight: 2, arbitrary: wait },
  { weight: 1, arbitrary: revoke },
);

/** The check before each call, of any agent in any session, where every tool asks. */
const checking = () => {
  const { clock, approvals, kept } = world();
  const currentActionFor = createPermissionActions(
    { store: { session: async (id) => sessionOf(id) } },
    { parentOf: () => undefined },
  );
  const ran: { readonly callID: string; readonly call: Call; readonly at: number }[] = [];
  let count = 0;
  const make = (made: Call): void => {
    const callID = `call-${count++}`;
    const check = createPermissionCheck({
      directory: '/',
      agent: made.agent,
      tools: Object.values(TOOLS),
      currentAction: currentActionFor({
        agent: [{ permission: '*', pattern: '*', action: 'ask' }],
        session: sessionOf(made.session),
        user: userMessage('msg_1', made.session),
      }),
      approvals,
      async *readMessages() {},
    });
    const input = made.hasToken ? { preview_token: `tok-${count}` } : {};
    const place = { id: `prt_${count}`, messageID: 'msg_2', sessionID: made.session };
    const part = { ...toolPart(place), callID, tool: made.tool };
    const asked = { ...part, state: { status: 'pending' as const, input, raw: '' } };
    void check(asked, TOOLS[made.tool] ?? toolNamed('none'), new AbortController().signal).then((refusal) => {
      if (refusal === undefined) ran.push({ callID, call: made, at: clock.now() });
    });
  };
  return { clock, approvals, kept, ran, make };
};

describe('answers to permission requests', (check) => {
  check('let no call move money without a decision of its own, in whatever order they come', async () => {
    let moved = 0;
    let unasked = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(action, { minLength: 30, maxLength: 60 }), async (actions) => {
        const { clock, approvals, kept, ran, make } = checking();
        /** How many decisions there were when a rule was revoked. */
        const revoked = new Map<string, number>();
        for (const given of actions) {
          if (given.kind === 'call') make(given);
          else if (given.kind === 'wait') await clock.advance(given.ms);
          else if (given.kind === 'revoke') {
            const rules = await approvals.standing.list();
            const rule = rules[given.at % Math.max(1, rules.length)];
            if (rule !== undefined && (await approvals.standing.revoke(rule.id))) revoked.set(rule.id, kept.length);
          } else {
            const open = await approvals.open();
            const asked = open[given.at % Math.max(1, open.length)];
            if (asked !== undefined) await approvals.reply(asked.id, { ...given.reply, ...BY });
          }
          await turn();
        }
        for (const { callID, call: made, at } of ran) {
          const [decision, ...more] = kept.filter((one) => one.tool?.callID === callID);
          assert.equal(more, [], 'one decision for one call');
          assert.is(decision?.by, 'ana');
          assert.equal([decision?.sessionID, decision?.permission], [made.session, made.tool]);
          if (movesMoney(made)) {
            assert.equal([decision?.reply, decision?.through], ['once', undefined]);
            moved += 1;
          }
          if (decision?.through === undefined) continue;
          // Decided with another request of the session, or under the rule that its reply has made.
          const rule = kept.find(({ id }) => id === decision.through);
          assert.equal([rule?.reply, rule?.through, rule?.sessionID], ['always', undefined, made.session]);
          assert.ok((rule?.at ?? 0) <= at && at < (rule?.at ?? 0) + HOUR_MS, 'within the hour');
          assert.ok(kept.indexOf(decision) < (revoked.get(decision.through) ?? kept.length), 'not once it is revoked');
          if (decision.asked === undefined) unasked += 1;
        }
        for (const { id, uses } of await approvals.standing.list())
          assert.is(uses, kept.filter(({ through, asked }) => through === id && asked === undefined).length);
      }),
      { numRuns: 200 },
    );
    // The sequences are worth something only if both came about.
    assert.ok(moved > 20 && unasked > 20, `${moved} moved money, ${unasked} ran under a rule`);
  });
});
