import * as assert from 'uvu/assert';
import { refuseUnsupportedFiles } from '../../../src/bridge/answer/file-types.ts';
import type { PromptFile } from '../../../src/bridge/request.ts';
import { Fault } from '../../../src/core/fault.ts';
import { describe } from '../../check.ts';
import { refusalOf } from '../harness/recorded-outputs.ts';

const file = (mime: string): PromptFile => ({
  type: 'file',
  at: `files.${mime}`,
  mime,
  url: `data:${mime};base64,AAAA`,
});
const OURS = ['@ai-sdk/openai-compatible', '@ai-sdk/openai', '@ai-sdk/anthropic'];
const TYPES = ['text/csv', 'application/json', 'image/png', 'application/pdf', 'audio/wav', 'audio/mpeg'];
const OTHER_TYPES = ['audio/flac', 'video/mp4', 'application/octet-stream', 'application/msword'];

const isRefused = (mime: string, adapter: string | undefined, media: readonly string[] = []): boolean => {
  try {
    refuseUnsupportedFiles([file('text/plain'), file(mime)], { adapter, media });
    return false;
  } catch (error) {
    if (error instanceof Fault && error.detail.kind === 'bad-input') return error.detail.param === `files.${mime}`;
    throw error;
  }
};
const refusedBy = (adapter: string | undefined, media?: readonly string[]): readonly string[] =>
  [...TYPES, ...OTHER_TYPES].filter((mime) => isRefused(mime, adapter, media));

describe('a file', (check) => {
  check("is refused, with its place, where an adapter of our agent's would not send it", () => {
    const [compatible, openai, anthropic] = OURS;
    assert.equal(refusedBy(compatible), OTHER_TYPES);
    for (const adapter of [openai, anthropic])
      assert.equal(refusedBy(adapter), ['audio/wav', 'audio/mpeg', ...OTHER_TYPES]);
  });

  check('of a kind that the agent shows for the model is taken with an adapter of another agent', () => {
    const refused = refusedBy('@ai-sdk/google', ['text', 'image', 'audio', 'video']);
    assert.equal(refused, ['application/pdf', 'application/octet-stream', 'application/msword']);
  });

  check('is left to an agent that does not say how it asks its model', () => {
    assert.equal(refusedBy(undefined), []);
  });

  check('that is refused comes with what the model takes', () => {
    const refuse = (adapter: string) => () => refuseUnsupportedFiles([file('audio/flac')], { adapter, media: [] });
    const messageOf = (adapter: string): string => {
      try {
        refuse(adapter)();
        return '';
      } catch (error) {
        return error instanceof Fault && error.detail.kind === 'bad-input' ? error.detail.message : '';
      }
    };
    assert.is(refusalOf(refuse('@ai-sdk/anthropic')), 'unsupported_value at files.audio/flac');
    assert.match(messageOf('@ai-sdk/anthropic'), 'this model takes texts, images, PDF. Send one of these');
    assert.match(messageOf('@ai-sdk/openai-compatible'), 'texts, images, PDF, audio as wav or mp3. Send');
  });
});
