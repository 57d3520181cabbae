import * as assert from 'uvu/assert';
import { describe, sampled } from '../../check.ts';
import { httpCall, wordOf } from '../harness/http-calls.ts';
import { httpTools, withElsewhere, withFront } from '../harness/http-world.ts';
import type { RunningRelay } from '../harness/relay-server.ts';
import { goodArguments, KEY_HOLDERS, type ToolName } from '../harness/tool-arguments.ts';

const STATUSES = sampled([307, 301, 302, 303, 300, 305, 308], 4);

/** Where a redirect may point, and nowhere. */
const locations = (here: string, { origin, host }: { readonly origin: string; readonly host: string }) => [
  ...[`${origin}/api/v1/admin/users`, `//${host}/`, `http://x:y@${host}/`, `\\\\${host}\\`],
  ...[`${here}/api/v1/admin/users`, '/api/v1/admin/users/2', 'users/2', '../../../settings', '?page=2', ''],
  ...['file:///etc/passwd', 'javascript:1', 'data:application/json,{"code":0,"data":{"id":2}}', undefined],
];

const redirectOf =
  (status: number, location: string | undefined): RunningRelay['meddle'] =>
  (_message, reply) => {
    reply.writeHead(status, location === undefined ? {} : { location }).end('{"code":0,"data":{"id":2}}');
    return true;
  };

describe('redirects', (check) => {
  check('end a read at once, wherever they lead, and are followed by no one', () =>
    withElsewhere((elsewhere) =>
      withFront(async (front) => {
        const tools = httpTools(front.origin);
        const given = new Map<ToolName, unknown>();
        for (const name of KEY_HOLDERS) given.set(name, await goodArguments(tools.admin, name));
        for (const status of STATUSES)
          for (const location of locations(front.origin, elsewhere))
            for (const name of KEY_HOLDERS) {
              const redirect = redirectOf(status, location);
              const seen: string[] = [];
              front.meddle = (message, reply) => {
                seen.push(`${message.method} ${message.url}`);
                return redirect(message, reply);
              };
              // A token that is refused stays good: nothing was sent with it.
              assert.is(
                wordOf(await httpCall(tools, name, given.get(name))),
                'UPSTREAM_REDIRECT',
                `${status} ${location}`,
              );
              assert.ok(seen.length <= 2 && new Set(seen).size === seen.length, seen.join());
            }
        assert.is(elsewhere.visits(), 0);
      }),
    ),
  );
  check('of a health check are a reason, and of lists too', () =>
    withElsewhere((elsewhere) =>
      withFront(async (front) => {
        const tools = httpTools(front.origin);
        for (const status of STATUSES)
          for (const location of locations(front.origin, elsewhere)) {
            front.meddle = redirectOf(status, location);
            const health = await httpCall(tools, 'health', {});
            assert.ok(health.kind === 'done' && health.result.reason === 'redirect');
            const options = await httpCall(tools, 'model_control_options', {});
            assert.ok(options.kind === 'done' && options.result.source === 'static');
          }
        assert.is(elsewhere.visits(), 0);
      }),
    ),
  );
  check('of a change leave in doubt what became of it, and are followed by no one', () =>
    withElsewhere(async (elsewhere) => {
      const expected = {
        recharge: 'accepted_unverified',
        update_user_limits: 'OUTCOME_UNKNOWN',
        set_account_schedulable: 'OUTCOME_UNKNOWN',
      };
      for (const status of STATUSES)
        for (const location of locations('http://127.0.0.1', elsewhere))
          await withFront(async (front) => {
            const tools = httpTools(front.origin);
            for (const name of ['recharge', 'update_user_limits', 'set_account_schedulable'] as const) {
              const given = await goodArguments(tools.admin, name);
              const changes: string[] = [];
              front.meddle = (message, reply) => {
                if (message.method === 'GET') return false;
                changes.push(String(message.url));
                return redirectOf(status, location)(message, reply);
              };
              const answer = await httpCall(tools, name, given);
              assert.is(wordOf(answer), expected[name], `${status} ${location}`);
              assert.is(changes.length, 1);
              front.meddle = () => false;
            }
            assert.equal(front.control.traps(), []);
          });
      assert.is(elsewhere.visits(), 0);
    }),
  );
});
