import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv';
import * as assert from 'uvu/assert';
import type { ToolAnswer } from '../../../src/relay-admin/app.ts';
import { leaksIn, relayTextIn, UNSEEN } from './canaries.ts';
import type { ToolName } from './tool-arguments.ts';
import { createWorld } from './world.ts';

/** What an official client holds every result against. */
const validator = new AjvJsonSchemaValidator();
const SCHEMAS = new Map(
  createWorld()
    .start()
    .tools.map(({ name, outputSchema }) => [name, validator.getValidator(outputSchema)] as const),
);

const SENTENCE =
  /^[A-Z][A-Z_]{2,40}: [\x20-\x7e]+\. outcome=(?:not_applied|unknown) retry=(?:no|same_call|after_\d{1,6}s)\. Next: [\x20-\x7e]+\.(?: ref=rc_[0-9a-f]{16})?$/;
const SENTENCE_LIMIT_CHARS = 600;
const RESULT_LIMIT_BYTES = 32 * 1024;

type Leaf = { readonly place: string; readonly text: string };

/** Every text in a result and every name, with where it stands: `accounts.shown.0.name`. */
const leavesOf = (value: unknown, place = ''): readonly Leaf[] => {
  if (typeof value === 'string') return [{ place, text: value }];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, part]) => {
    const inner = place === '' ? name : `${place}.${name}`;
    return [{ place: inner, text: name }, ...leavesOf(part, inner)];
  });
};

const USER = /^user\.(?:email|username|role|status|last_used_at|created_at)$/;
/** Where texts of other people may stand. Everything else in a result is ours. */
const UNKNOWN_NAME_PLACES: Readonly<Record<ToolName, RegExp>> = {
  describe: /^$/,
  health: /^$/,
  read: /^data(?:\..*)?$/s,
  find_user: USER,
  preview_recharge: USER,
  recharge: /^history_row\.used_at$/,
  update_user_limits: /^$/,
  set_account_schedulable: /^(?:account_name|(?:before|after)\.status)$/,
  model_control_options:
    /^(?:accounts|groups|channels)\.shown\.\d+\.(?:name|platform|status|model_limits\.\d+\.(?:scope|resets_at))$/,
};

const demandResult = (name: ToolName, result: unknown, unknownName: string): void => {
  const json = JSON.stringify(result);
  const sent: unknown = JSON.parse(json);
  const checked = SCHEMAS.get(name)?.(sent);
  assert.ok(checked?.valid, `${name} keeps its own schema: ${checked?.errorMessage}`);
  assert.ok(Buffer.byteLength(json) <= RESULT_LIMIT_BYTES, `${name} answers with ${Buffer.byteLength(json)} bytes`);
  for (const { place, text } of leavesOf(sent)) {
    assert.not(UNSEEN.test(text), `${name} has something unseen in ${place}`);
    const isForeign = unknownName !== '' && text.includes(unknownName);
    assert.ok(!isForeign || UNKNOWN_NAME_PLACES[name].test(place), `${name} has a stranger's text in ${place}`);
  }
};

const demandSentence = (name: ToolName, text: string, unknownName: string): void => {
  assert.match(text, SENTENCE);
  assert.ok(text.length <= SENTENCE_LIMIT_CHARS, `${name} fails with ${text.length} characters`);
  assert.not.match(text, /^INTERNAL/);
  assert.not(unknownName !== '' && text.includes(unknownName), `${name} quotes a stranger: ${text}`);
};

/** What holds for every answer of every tool, whatever the relay did. `stranger` marks texts that are not ours. */
export const demandGoodAnswer = (name: ToolName, answer: ToolAnswer, unknownName = ''): void => {
  const whole = JSON.stringify(answer);
  assert.equal(leaksIn(whole), [], `${name} lets a secret out: ${whole.slice(0, 400)}`);
  assert.is(relayTextIn(whole), undefined, `${name} hands on the relay's words`);
  if (answer.kind === 'done') demandResult(name, answer.result, unknownName);
  else if (answer.kind === 'failed') demandSentence(name, answer.text, unknownName);
  else assert.unreachable(`no tool ${name}`);
};
