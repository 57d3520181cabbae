import { createSetAccountSchedulableTool } from '../../../../src/relay-admin/tools/set-account-schedulable.ts';
import { createWorld, type Script } from '../../change/world.ts';

/** An account as the relay reports it, with a credential that nobody may see. */
export const account = (more: Readonly<Record<string, unknown>> = {}) => ({
  id: 12,
  name: 'primary',
  status: 'active',
  schedulable: true,
  credentials: { api_key: 'sk-not-to-be-seen' },
  ...more,
});
/** The account with its switch on. */
export const ON = account();
/** The account with its switch off. */
export const OFF = account({ schedulable: false });
/** Arguments that switch the account off. */
export const TURN_OFF = { account_id: 12, schedulable: false };
/** Arguments that switch the account on. */
export const TURN_ON = { account_id: 12, schedulable: true };

/** The tool over a relay that reports the account on before the change and off after it, unless the script says otherwise. */
export const worldWith = (script: Script = {}) => {
  const world = createWorld({ reads: [ON, OFF], ...script });
  const tool = createSetAccountSchedulableTool(world.needs);
  return { ...world, tool, ask: (given: unknown, signal?: AbortSignal) => world.call(tool, given, signal) };
};
